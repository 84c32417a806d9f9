"""A chat model without a language model: rules that save, recall and forget, and say so."""

from discreet.providers.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
