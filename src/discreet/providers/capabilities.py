"""What a chat model says of itself."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel


def name_of(model: BaseChatModel) -> str | None:
    """Return the name that its provider knows `model` by; None if it tells none."""
    for attribute in ("model_name", "model"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return None


def window_of(model: BaseChatModel) -> int | None:
    """Return the tokens that `model` takes, as its LangChain profile says; None if it has none."""
    tokens = (model.profile or {}).get("max_input_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None
