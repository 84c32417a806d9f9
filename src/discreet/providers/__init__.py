"""Models: embeddings and chat models by name, the local ones included.

A name is `provider:model`. `chat_model()` and `embedding_provider()` without one take what the settings say, else
what needs neither key nor network: `offline`, and `local` where it is installed, else `none`. A key names no model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy_names import loaded_on_demand

if TYPE_CHECKING:
    from discreet.providers.chat import chat_model
    from discreet.providers.embeddings import embedding_provider, from_langchain

__all__ = ["chat_model", "embedding_provider", "from_langchain"]

__getattr__ = loaded_on_demand(
    __name__, {"chat_model": "chat", "embedding_provider": "embeddings", "from_langchain": "embeddings"}
)
