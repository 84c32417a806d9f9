"""However a model cuts up what it says, nothing raw is in any event, and the vault can restore it all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langgraph.graph import START, MessagesState, StateGraph

from discreet.redaction import resolve

PLANTED = ("ann@example.com", "bob@example.org", "+1 202 456 1111", "4111 1111 1111 1111", "пётр@example.ru")
WORDS = (*PLANTED, "Hello,", "gọi cho", "写信给", "звоните", "and then", "word " * 120, "\n\n", "(", ").")
HELLO = {"messages": [("user", "Hello")]}


@st.composite
def said(draw: st.DrawFn) -> list[Any]:
    """Return the pieces of a message: text as a string or in blocks, then a call of a tool, and what models think."""
    text = " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=8)))
    args = json.dumps({"to": draw(st.sampled_from(PLANTED)), "note": draw(st.sampled_from(WORDS))}, ensure_ascii=False)
    in_blocks = draw(st.booleans())
    pieces: list[Any] = []
    if in_blocks:
        thought = f"They want {draw(st.sampled_from(PLANTED))}"
        pieces += [
            AIMessageChunk([{"type": "reasoning", "reasoning": each, "index": 0}]) for each in cut(draw, thought)
        ]
        pieces.append(AIMessageChunk([{"type": "reasoning", "extras": {"signature": PLANTED[0]}, "index": 0}]))
    pieces += [
        AIMessageChunk([{"type": "text", "text": each, "index": 1}] if in_blocks else each) for each in cut(draw, text)
    ]
    for number, each in enumerate(cut(draw, args)):
        call = {
            "name": "write" if not number else None,
            "args": each,
            "id": "call_1a" if not number else None,
            "index": 0,
        }
        pieces.append(AIMessageChunk("", tool_call_chunks=[{**call, "type": "tool_call_chunk"}]))
    pieces.append(AIMessageChunk("", response_metadata={"model_name": "m", "prompt": PLANTED[1]}))
    return [text, args, pieces]


def cut(draw: st.DrawFn, text: str) -> list[str]:
    """Return `text` in pieces, at least one."""
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def one_node(model: Any) -> Any:
    """Return a graph with a model in it."""

    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile()


SLOW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.slow
@SLOW
@given(said())
async def test_tokens_of_a_stream(server: Any, piece_model: Any, clean: Any, what: list[Any]) -> None:
    text, args, pieces = what
    served = server(one_node(piece_model(pieces=pieces)))
    whole: AIMessageChunk | None = None
    async for mode, payload in served.graph.astream(HELLO, served.config, stream_mode=["messages", "values", "debug"]):
        assert clean(payload)
        if mode == "messages" and isinstance(payload[0], AIMessageChunk):
            whole = payload[0] if whole is None else whole + payload[0]
    assert whole is not None
    assert clean(whole)
    assert resolve(str(whole.text), served.values()) == text
    (call,) = whole.tool_calls
    assert call["id"] == "call_1a"
    assert resolve(json.dumps(call["args"], ensure_ascii=False), served.values()) == args
    assert whole.response_metadata.keys() <= {"model_name", "model_provider"}


@pytest.mark.slow
@SLOW
@given(said())
async def test_tokens_of_events(server: Any, piece_model: Any, clean: Any, what: list[Any]) -> None:
    text, args, pieces = what
    served = server(one_node(piece_model(pieces=pieces)))
    whole: AIMessageChunk | None = None
    async for event in served.graph.astream_events(HELLO, served.config, version="v2"):
        assert clean(event)
        if event["event"] == "on_chat_model_stream":
            chunk = event["data"]["chunk"]
            whole = chunk if whole is None else whole + chunk
    assert whole is not None
    assert resolve(str(whole.text), served.values()) == text
    assert resolve(json.dumps(whole.tool_calls[0]["args"], ensure_ascii=False), served.values()) == args


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
@SLOW
@given(said())
async def test_tokens_of_the_event_protocol(server: Any, piece_model: Any, clean: Any, what: list[Any]) -> None:
    text, args, pieces = what
    served = server(one_node(piece_model(pieces=pieces)))
    deltas, calls = "", ""
    async with await served.graph.astream_events(HELLO, served.config, version="v3") as run:
        async for event in run:
            assert clean(event), event
            data = event["params"]["data"]
            if event["method"] == "messages" and data[0]["event"] == "content-block-delta":
                deltas += data[0]["delta"].get("text", "")
                calls += data[0]["delta"].get("args", "")
    assert resolve(deltas, served.values()) == text
    assert resolve(calls, served.values()) == args
    async with await served.graph.astream_events(HELLO, served.config, version="v3") as run:
        async for stream in run.messages:
            message = await stream
            assert clean(message)
            assert resolve(str(message.text), served.values()) == text


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("size", [1, 5, 1_000])
async def test_reasoning_in_the_text_of_a_model_is_in_no_event(
    server: Any, piece_model: Any, in_blocks: bool, size: int
) -> None:
    said = f"<think>planted: {PLANTED[0]}</think>\n\nIt is noon."
    cuts = [said[at : at + size] for at in range(0, len(said), size)]
    pieces = [AIMessageChunk([{"type": "text", "text": each, "index": 0}] if in_blocks else each) for each in cuts]
    served = server(one_node(piece_model(pieces=pieces)))
    streamed = ""
    async for mode, payload in served.graph.astream(
        HELLO, served.config, stream_mode=["messages", "values", "updates"]
    ):
        assert "planted" not in repr(payload)
        streamed += str(payload[0].text) if mode == "messages" and isinstance(payload[0], AIMessageChunk) else ""
    assert streamed == "It is noon."
    events = [each async for each in served.graph.astream_events(HELLO, served.config, version="v2")]
    assert "planted" not in repr(events)
