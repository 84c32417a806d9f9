"""A chat model without a language model: rules that save, recall, correct and forget, and say so."""

from discreet.providers.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
