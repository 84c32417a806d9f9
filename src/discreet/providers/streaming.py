"""Cut a finished answer into the chunks that a streaming provider would send."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

ARGUMENT_CHARS = 16
"""Tool arguments arrive in pieces of this size, so that whoever reads the stream has to put JSON together."""

_WORDS = re.compile(r"\S+\s*|\s+")


def stream_chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """Yield `message` word by word, then its tool calls: the name first, then the arguments piece by piece.

    Content that is a list of blocks is sent as one chunk. The last chunk carries the metadata.
    """
    pieces = _WORDS.findall(message.content) if isinstance(message.content, str) else [message.content]
    chunks = [AIMessageChunk(content=piece) for piece in pieces]
    for index, call in enumerate(message.tool_calls):
        arguments = json.dumps(call["args"], ensure_ascii=False)
        chunks.append(_call_chunk(index, "", name=call["name"], call_id=call["id"]))
        chunks += [
            _call_chunk(index, arguments[start : start + ARGUMENT_CHARS])
            for start in range(0, len(arguments), ARGUMENT_CHARS)
        ]
    chunks.append(
        AIMessageChunk(
            content="",
            response_metadata=message.response_metadata,
            usage_metadata=message.usage_metadata,
            chunk_position="last",
        )
    )
    yield from (ChatGenerationChunk(message=chunk) for chunk in chunks)


def _call_chunk(index: int, arguments: str, *, name: str | None = None, call_id: str | None = None) -> AIMessageChunk:
    return AIMessageChunk(
        content="", tool_call_chunks=[tool_call_chunk(name=name, args=arguments, id=call_id, index=index)]
    )
