"""Somebody else's graph, raw throughout, over somebody else's checkpointer: what leaves it is clean and can be restored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, BaseMessage
from langgraph.types import Command

from discreet.errors import ConfigurationError
from discreet.graph.guard import guarded
from discreet.redaction import resolve

MODES = ["values", "updates", "custom", "debug", "tasks", "checkpoints", "messages", "tools"]
HELLO = {"messages": [{"role": "user", "content": "I am <EMAIL>."}]}


@pytest.fixture
def talking(serve: Any, piece_model: Any, raw: tuple[str, ...]) -> Any:
    """Return a server whose graph has two models speak at the same time."""
    first = [*f"Write to {raw[0]} and {raw[1]}. {'more ' * 150}", AIMessageChunk(content="", chunk_position="last")]
    second = [{"type": "text", "text": each, "index": 0} for each in f"Call {raw[2]} now. {'less ' * 150}"]
    served = serve([piece_model(pieces=first), piece_model(pieces=[[each] for each in second])])
    served.request(input={"messages": [{"role": "user", "content": f"I am {raw[0]}."}]})
    return served


def texts(events: list[Any]) -> dict[str, str]:
    """Return the text of each message that was streamed, by its id."""
    streamed: dict[str, str] = {}
    for *_, mode, payload in events:
        if mode == "messages" and isinstance(payload[0], AIMessageChunk):
            streamed[payload[0].id] = streamed.get(payload[0].id, "") + str(payload[0].text)
    return streamed


@pytest.mark.slow
async def test_nothing_raw_leaves_in_any_mode(talking: Any, clean: Any) -> None:
    events = []
    async for event in talking.graph.astream(HELLO, talking.config, stream_mode=MODES, subgraphs=True):
        events.append(event)
        assert clean(event), event
    modes = {event[1] for event in events}
    assert modes >= {"values", "updates", "custom", "debug", "tasks", "checkpoints", "messages"}
    assert any(event[0] and "__interrupt__" in str(event) for event in events), "the subgraph's question"


@pytest.mark.slow
async def test_two_messages_at_once_come_out_whole_and_can_be_restored(talking: Any, raw: tuple[str, ...]) -> None:
    events = [event async for event in talking.graph.astream(HELLO, talking.config, stream_mode=["messages"])]
    order = [event[1][0].id for event in events if isinstance(event[1][0], AIMessageChunk)]
    streamed = texts(events)
    assert len(streamed) == 2
    assert order != sorted(order, key=order.index), "they take turns"
    restored = sorted(resolve(text, talking.values()) for text in streamed.values())
    assert restored == sorted(
        [f"Write to {raw[0]} and {raw[1]}. {'more ' * 150}", f"Call {raw[2]} now. {'less ' * 150}"]
    )


@pytest.mark.slow
async def test_values_are_in_the_vault_before_an_event_is_out(talking: Any) -> None:
    async for event in talking.graph.astream(HELLO, talking.config, stream_mode=MODES, subgraphs=True):
        assert "<EMAIL:" not in resolve(repr(event), talking.values())


@pytest.mark.slow
async def test_the_nodes_get_what_the_request_said(talking: Any, raw: tuple[str, ...]) -> None:
    await talking.graph.ainvoke(HELLO, talking.config)
    saved = await talking.graph.checkpointer.aget_tuple(talking.config)
    assert saved.checkpoint["channel_values"]["messages"][0].content == f"I am {raw[0]}."


@pytest.mark.slow
async def test_an_answer_to_a_question_arrives_raw_and_the_state_is_read_clean(
    talking: Any, clean: Any, raw: tuple[str, ...]
) -> None:
    paused = await talking.graph.ainvoke(HELLO, talking.config)
    assert clean(paused)
    question = paused["__interrupt__"][0]
    state = await talking.graph.aget_state(talking.config, subgraphs=True)
    assert clean(state)
    assert state.interrupts[0].id == question.id
    talking.vault.drop("0f9ba759e1bc4588")
    talking.request(command={"resume": {"to": raw[4]}})
    ended = await talking.graph.ainvoke(Command(resume={"to": "<EMAIL>"}), talking.config)
    assert clean(ended)
    assert resolve(json.dumps(ended["found"][-1], ensure_ascii=False), talking.values()) == json.dumps(
        {"to": raw[4]}, ensure_ascii=False
    )
    assert [state async for state in talking.graph.aget_state_history(talking.config) if not clean(state)] == []


@pytest.mark.slow
async def test_ids_survive(talking: Any) -> None:
    events = [e async for e in talking.graph.astream(HELLO, talking.config, stream_mode=MODES, subgraphs=True)]
    saved = await talking.graph.checkpointer.aget_tuple(talking.config)
    stored = {message.id for message in saved.checkpoint["channel_values"]["messages"]}
    shown = [event[2] for event in events if event[1] == "values" and not event[0]][-1]
    assert {message.id for message in shown["messages"]} == stored
    assert shown["messages"][1].tool_call_id == "call_5f7f2ayrDrYYxOV2EXvyDZhE"
    assert {*texts(events)} <= stored
    checkpoint = [event[2] for event in events if event[1] == "checkpoints" and not event[0]][-1]
    assert checkpoint["config"]["configurable"]["checkpoint_id"] == saved.checkpoint["id"]
    assert "__discreet_request" not in repr(events)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("mode", ["values", "updates", "custom", "messages", "debug"])
@pytest.mark.parametrize("subgraphs", [False, True])
async def test_a_single_mode_keeps_its_shape(talking: Any, clean: Any, mode: Any, subgraphs: bool) -> None:
    events = [
        event async for event in talking.graph.astream(HELLO, talking.config, stream_mode=mode, subgraphs=subgraphs)
    ]
    assert all(clean(event) for event in events)
    payload = events[-1][1] if subgraphs else events[-1]
    assert isinstance(payload, tuple if mode == "messages" else dict)


@pytest.mark.slow
async def test_version_two_parts_keep_their_shape(talking: Any, clean: Any) -> None:
    async for part in talking.graph.astream(HELLO, talking.config, stream_mode=MODES, subgraphs=True, version="v2"):
        assert clean(part)
        assert part["type"] in MODES


@pytest.mark.slow
async def test_events_of_version_two_are_clean_and_tokens_can_be_restored(
    talking: Any, clean: Any, raw: tuple[str, ...]
) -> None:
    streamed: dict[str, str] = {}
    async for event in talking.graph.astream_events(HELLO, talking.config, version="v2", stream_mode=MODES):
        assert clean(event), event
        if event["event"] == "on_chat_model_stream":
            run = event["run_id"]
            streamed[run] = streamed.get(run, "") + str(event["data"]["chunk"].text)
    restored = {resolve(text, talking.values()) for text in streamed.values()}
    assert f"Call {raw[2]} now. {'less ' * 150}" in restored


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
async def test_the_event_protocol_is_clean_and_its_projections_too(
    talking: Any, clean: Any, raw: tuple[str, ...]
) -> None:
    deltas: dict[Any, str] = {}
    async with await talking.graph.astream_events(HELLO, talking.config, version="v3") as run:
        async for event in run:
            assert clean(event), event
            data = event["params"]["data"]
            if event["method"] == "messages" and isinstance(data, tuple) and data[0].get("delta"):
                assert data[0]["event"] == "content-block-delta"
                key = data[1]["run_id"]
                deltas[key] = deltas.get(key, "") + data[0]["delta"]["text"]
        output = await run.output()
        assert await run.interrupted()
        assert clean(await run.interrupts())
    assert clean(output)
    assert len(deltas) == 2
    assert f"Call {raw[2]} now. {'less ' * 150}" in {resolve(text, talking.values()) for text in deltas.values()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
async def test_messages_of_the_event_protocol_are_put_together_clean(talking: Any, clean: Any) -> None:
    async with await talking.graph.astream_events(HELLO, talking.config, version="v3") as run:
        async for stream in run.messages:
            message = await stream
            assert isinstance(message, BaseMessage)
            assert clean(message)


def test_blocking_faces_are_clean_too(serve: Any, clean: Any, raw: tuple[str, ...]) -> None:
    served = serve()
    served.request(input={"messages": [{"role": "user", "content": f"I am {raw[0]}."}]})
    for event in served.graph.stream(HELLO, served.config, stream_mode=MODES, subgraphs=True):
        assert clean(event), event
        assert "<EMAIL:" not in resolve(repr(event), served.values())
    assert clean(served.graph.get_state(served.config, subgraphs=True))
    assert clean(list(served.graph.get_state_history(served.config)))
    assert clean(served.graph.invoke(Command(resume="yes"), served.config))
    assert raw[0] in served.values().values()


async def test_without_a_request_the_run_is_clean_all_the_same(talking: Any, clean: Any, raw: tuple[str, ...]) -> None:
    config = {"configurable": {"thread_id": "other"}}
    said = {"messages": [("user", f"I am {raw[0]}.")]}
    assert clean(await talking.graph.ainvoke(said, config))
    saved = await talking.graph.checkpointer.aget_tuple(config)
    assert saved.checkpoint["channel_values"]["messages"][0].content == f"I am {raw[0]}."


async def test_a_stream_that_is_given_up_closes_the_graph(talking: Any) -> None:
    stream = talking.graph.astream(HELLO, talking.config, stream_mode=MODES)
    await anext(stream)
    await stream.aclose()


def test_a_log_of_a_run_is_refused(talking: Any) -> None:
    with pytest.raises(ConfigurationError, match="astream_events"):
        talking.graph.astream_log(HELLO, talking.config)


def test_a_guarded_graph_is_guarded_anew_and_prints_nothing(
    serve: Any, raw: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    again = guarded(serve().graph.copy({"debug": True}))
    list(again.stream({"messages": [("user", raw[0])]}, {"configurable": {"thread_id": "p"}}, print_mode="values"))
    assert capsys.readouterr().out == ""
