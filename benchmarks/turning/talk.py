"""What is said in the conversations: the same on all sides."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from comparing.texts import Texts
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from discreet.ports import Calibration
from discreet.testing.chat_models import RecordingChatModel

USER = "u-1"
FACTS = 200
"""Memories that the user has before the conversation."""
TOOL_CHARS = 20_000
ANSWER_CHARS = 400


def facts() -> list[str]:
    """Return what is known about the user."""
    texts = Texts(seed=11)
    return [texts.prose(80) for _ in range(FACTS)]


def questions(turns: int, characters: int = 60) -> list[str]:
    """Return what the user says, in a way that asks for memories."""
    texts = Texts(seed=12)
    return [f"What did I tell you last week about {texts.prose(characters)}" for _ in range(turns)]


def look_up_tool(seed: int) -> BaseTool:
    """Return a tool with a result of 20 kB."""
    texts = Texts(seed)

    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        return f"{query}: {texts.prose(TOOL_CHARS)}"[:TOOL_CHARS]

    return look_up


class InstantModel(RecordingChatModel):
    """Calls the tool if it is to, then answers, in no time."""

    seed: int = 13
    calls_tool: bool = True

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _next(self, messages: list[BaseMessage], options: dict[str, object]) -> AIMessage:
        if self.calls_tool and not isinstance(messages[-1], ToolMessage):
            call = {"name": "look_up", "args": {"query": "a place to stay"}, "id": f"call_{len(messages)}"}
            return AIMessage("", tool_calls=[call])
        self.seed += 1
        return AIMessage(Texts(self.seed).prose(ANSWER_CHARS))


class ConstantTimeEmbeddings:
    """Vectors in no time: made from a hash of the text. A LangChain `Embeddings` by shape, and our provider."""

    calibration = Calibration(zero=0.0, one=1.0)
    dims = 384
    name = "stub:hash:384"

    def embed_query(self, text: str) -> list[float]:
        """Return a unit vector."""
        vector = np.random.default_rng(zlib.crc32(text[:200].encode())).standard_normal(self.dims)
        return list((vector / np.linalg.norm(vector)).tolist())

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return unit vectors."""
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """Return a unit vector."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return unit vectors."""
        return self.embed_documents(texts)
