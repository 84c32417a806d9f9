"""Models: embeddings and chat models by name, the local ones included.

A name is `provider:model`. `chat_model()` and `embedding_provider()` without one take what the settings say, then
OpenAI where there is a key, else what needs neither key nor network: `offline` and `local`.
"""

from discreet.providers.chat import chat_model
from discreet.providers.embeddings import embedding_provider, from_langchain

__all__ = ["chat_model", "embedding_provider", "from_langchain"]
