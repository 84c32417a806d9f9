"""A server on 127.0.0.1 that speaks OpenAI's protocol, so that real clients run without a key and without a network."""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall

from discreet.ports import EmbeddingProvider
from discreet.providers.streaming import stream_chunks
from discreet.testing.embeddings import StubEmbeddings
from discreet.testing.loopback import LoopbackHandler, loopback

MODEL = "scripted"
_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An answer that fails: a status other than 200, or one that comes too late for the client's time-out."""

    status: int = 500
    delay: float = 0.0
    """Seconds before it answers; it ends early when the server is stopped."""
    retry_after: float | None = None
    """Seconds, sent as the header Retry-After."""


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    """The JSON body; empty for GET."""
    authorization: str | None
    """The header of that name."""


@dataclass
class OpenAIServer:
    """The running server: where it is, what it was asked, and what it will answer."""

    answers: list[AIMessage | Failure]
    """What is left of the script, for chat completions and embeddings alike; a chat completion takes the next one."""
    embeddings: EmbeddingProvider
    word_seconds: float = 0.0
    """Between two pieces of an answer that is streamed, which are words."""
    base_url: str = ""
    """For the client's `base_url`."""
    requests: list[RecordedRequest] = field(default_factory=list)
    """Oldest first."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def next_chat_answer(self) -> AIMessage | Failure:
        """Take the next answer from the script; status 500 when it is over."""
        with self.lock:
            return self.answers.pop(0) if self.answers else Failure()

    def next_failure(self) -> Failure | None:
        """Take the next answer if it is a failure: embeddings need no script."""
        with self.lock:
            head = self.answers[0] if self.answers else None
            if not isinstance(head, Failure):
                return None
            del self.answers[0]
            return head


@contextmanager
def openai_server(
    answers: Iterable[AIMessage | Failure] = (),
    *,
    embeddings: EmbeddingProvider | None = None,
    word_seconds: float = 0.0,
) -> Iterator[OpenAIServer]:
    """Run a server for `/v1/chat/completions` (whole or streamed), `/v1/embeddings` and `/v1/models`.

    Args:
        answers: The script, see `OpenAIServer.answers`.
        embeddings: Makes the vectors. Default: `StubEmbeddings` of as many dims as the client asks for.
        word_seconds: See `OpenAIServer.word_seconds`.

    Example:
        >>> from langchain_openai import ChatOpenAI
        >>> with openai_server([AIMessage("Hello.")]) as server:
        ...     ChatOpenAI(model="any", base_url=server.base_url, api_key="unused").invoke("Hi").content
        'Hello.'
    """
    state = OpenAIServer(list(answers), embeddings or StubEmbeddings(), word_seconds)
    with loopback(_Handler, state=state) as origin:
        state.base_url = f"{origin}/v1"
        yield state


class _Handler(LoopbackHandler):
    state: OpenAIServer

    def answer(self, body: bytes) -> None:
        given = json.loads(body or b"{}")
        self.state.requests.append(RecordedRequest(self.path, given, self.headers.get("Authorization")))
        match self.command, self.path:
            case "GET", "/v1/models":
                models = [{"id": MODEL, "object": "model", "owned_by": "discreet"}]
                self.send_json({"object": "list", "data": models})
            case "POST", "/v1/chat/completions":
                self._chat(given)
            case "POST", "/v1/embeddings":
                self._embed(given)
            case _:
                self._fail(Failure(status=404))

    def _chat(self, body: dict[str, Any]) -> None:
        answer = self.state.next_chat_answer()
        if isinstance(answer, Failure):
            self._fail(answer)
        elif body.get("stream"):
            self._events(_chat_events(answer))
        else:
            self.send_json(_completion(answer))

    def _embed(self, body: dict[str, Any]) -> None:
        if failure := self.state.next_failure():
            self._fail(failure)
            return
        given = body["input"]
        texts: Sequence[str] = [given] if isinstance(given, str) else given
        model = StubEmbeddings(body["dimensions"]) if self._must_resize(body) else self.state.embeddings
        encode = _base64 if body.get("encoding_format") == "base64" else list
        data = [
            {"object": "embedding", "index": index, "embedding": encode(vector)}
            for index, vector in enumerate(model.embed_documents(texts))
        ]
        self.send_json({"object": "list", "model": MODEL, "data": data, "usage": _USAGE})

    def _must_resize(self, body: dict[str, Any]) -> bool:
        return isinstance(self.state.embeddings, StubEmbeddings) and "dimensions" in body

    def _fail(self, failure: Failure) -> None:
        self.stopping.wait(failure.delay)
        headers = {} if failure.retry_after is None else {"Retry-After": str(failure.retry_after)}
        error = {"error": {"message": "As scripted.", "type": "scripted"}}
        self.send_json(error, status=failure.status, headers=headers)

    def _events(self, events: Iterable[object]) -> None:
        lines = [*(f"data: {json.dumps(event)}\n\n".encode() for event in events), b"data: [DONE]\n\n"]
        pieces = lines if self.state.word_seconds else [b"".join(lines)]
        self.send_pieces(pieces, "text/event-stream", pause=self.state.word_seconds)


def _completion(answer: AIMessage) -> dict[str, Any]:
    """Return `answer` as a chat completion (OpenAI API reference, "The chat completion object")."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.content or None}
    if answer.tool_calls:
        message["tool_calls"] = [_tool_call(call) for call in answer.tool_calls]
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice]} | {
        "usage": _USAGE
    }


def _chat_events(answer: AIMessage) -> Iterator[dict[str, Any]]:
    """Yield `answer` as the events of a stream (OpenAI API reference, "The chat completion chunk object")."""
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    for chunk in stream_chunks(answer):
        calls = [
            {"index": call["index"], "id": call["id"], "type": "function"}
            | {"function": {"name": call["name"], "arguments": call["args"]}}
            for call in getattr(chunk.message, "tool_call_chunks", ())
        ]
        delta = {"role": "assistant", "content": chunk.message.content} | ({"tool_calls": calls} if calls else {})
        yield common | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield common | {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish_reason(answer)}]}


def _tool_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"id": call["id"], "type": "function", "function": function}


def _finish_reason(answer: AIMessage) -> str:
    return "tool_calls" if answer.tool_calls else "stop"


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
