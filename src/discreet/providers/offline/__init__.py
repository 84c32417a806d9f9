"""A chat model without a language model: rules that save, recall, correct and forget, and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy_names import loaded_on_demand

if TYPE_CHECKING:
    from discreet.providers.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]

__getattr__ = loaded_on_demand(__name__, {"OfflineChatModel": "model"})
