"""What a failing graph tells a server, and what the server's log shows of it."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import pytest
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy
from rich.console import Console
from rich.traceback import Traceback

from discreet.errors import DiscreetError, InputTooLargeError, RunFailedError
from discreet.state.request_ref import REQUEST_REF

SECRET = "Ann Smith takes lithium, mail ann@example.com"


class State(TypedDict, total=False):
    text: str


def failing(error: Callable[[], BaseException], *, retry: RetryPolicy | None = None) -> Any:
    """Return a graph whose node fails with `error`, caused by another one, with a note."""

    async def node(state: State) -> State:
        text = state["text"]
        try:
            {}[text]
        except KeyError as cause:
            failure = error()
            failure.add_note(text)
            raise failure from cause

    graph = StateGraph(State)
    graph.add_node("node", node, retry_policy=retry)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile()


async def test_of_a_run_that_failed_the_request_stays_to_be_tried_again(server: Any) -> None:
    served = server(failing(ValueError))
    served.request(input={"text": SECRET})
    with pytest.raises(RunFailedError):
        await served.graph.ainvoke({"text": "<EMAIL>"}, served.config)
    assert served.vault.values(served.config["configurable"][REQUEST_REF])


def shown(error: BaseException) -> str:
    """Return all that handlers print of an exception: messages, notes, causes, and the variables of frames."""
    plain = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    console = Console(file=io.StringIO(), width=400)
    console.print(Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True))
    written = console.file
    assert isinstance(written, io.StringIO)
    return plain + written.getvalue()


def is_silent(error: BaseException) -> bool:
    """Whether an exception says nothing of `SECRET`, and what is printed of it nothing raw."""
    return "lithium" not in "".join(traceback.format_exception(error)) and "example.com" not in shown(error)


async def _exhaust(events: Any, seen: list[Any] | None = None) -> None:
    async for event in events:
        if seen is not None:
            seen.append(event)


async def _protocol(graph: Any, said: Any, config: Any) -> None:
    async with await graph.astream_events(said, config, version="v3") as run:
        async for _ in run:
            pass


FACES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "ainvoke": lambda graph, said, config: graph.ainvoke(said, config),
    "astream": lambda graph, said, config: _exhaust(graph.astream(said, config, stream_mode=["values", "debug"])),
    "events": lambda graph, said, config: _exhaust(graph.astream_events(said, config, version="v2")),
    "protocol": _protocol,
    "invoke": lambda graph, said, config: asyncio.to_thread(graph.invoke, said, config),
}


async def caught(serve: Any, graph: Any, face: str) -> BaseException:
    """Return what a run of `graph` raises, whose request said `SECRET`."""
    served = serve(graph)
    served.request(input={"text": SECRET})
    try:
        await FACES[face](served.graph, {"text": "<EMAIL>"}, served.config)
    except BaseException as error:  # noqa: BLE001  # looked at by the test
        return error
    pytest.fail("nothing was raised")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
@pytest.mark.parametrize("face", [name for name in FACES if name != "invoke"])
async def test_an_error_of_somebody_else_tells_its_class_only(server: Any, face: str) -> None:
    error = await caught(server, failing(lambda: ValueError(SECRET)), face)
    assert isinstance(error, RunFailedError)
    assert "ValueError" in str(error)
    assert error.kind == "ValueError"
    assert error.__cause__ is error.__context__ is None
    assert is_silent(error)


@pytest.mark.fast_cases(2)
@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
@pytest.mark.parametrize("face", [name for name in FACES if name != "invoke"])
async def test_an_error_of_ours_keeps_what_it_says(server: Any, face: str) -> None:
    error = await caught(server, failing(lambda: InputTooLargeError(7, 5)), face)
    assert isinstance(error, InputTooLargeError)
    assert str(error) == str(InputTooLargeError(7, 5))
    assert (error.size, error.limit) == (7, 5)
    assert error.__cause__ is error.__context__ is None
    assert not hasattr(error, "__notes__")
    assert is_silent(error)


@pytest.mark.parametrize("kind", [TimeoutError, GraphRecursionError])
async def test_what_servers_tell_apart_keeps_its_type_with_a_redacted_message(
    server: Any, kind: type[BaseException]
) -> None:
    error = await caught(server, failing(lambda: kind("call ann@example.com")), "astream")
    assert type(error) is kind
    assert "example.com" not in shown(error)
    assert "call <EMAIL:" in str(error)


@pytest.mark.slow
async def test_blocking_calls_tell_as_little(server: Any) -> None:
    def node(state: State) -> State:
        raise ValueError(state["text"])

    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    error = await caught(server, graph.compile(), "invoke")
    assert isinstance(error, RunFailedError)
    assert is_silent(error)


@pytest.mark.slow
async def test_an_endless_graph_still_says_so(server: Any) -> None:
    graph = StateGraph(State)
    graph.add_node("again", lambda state: state)
    graph.add_edge(START, "again")
    graph.add_edge("again", "again")
    error = await caught(server, graph.compile(), "astream")
    assert isinstance(error, GraphRecursionError)
    assert "Recursion limit" in str(error)


async def test_cancelling_a_run_cancels_it(server: Any) -> None:
    started = asyncio.Event()

    async def node(state: State) -> State:
        started.set()
        await asyncio.sleep(60)
        return state

    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    served = server(graph.compile())
    task = asyncio.create_task(served.graph.ainvoke({"text": SECRET}, served.config))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught_:
        await task
    assert task.cancelled()
    assert caught_.value.__context__ is None


async def test_events_of_a_failed_task_tell_its_class_only(server: Any) -> None:
    served = server(failing(lambda: ValueError(SECRET)))
    served.request(input={"text": SECRET})
    events: list[Any] = []
    with pytest.raises(RunFailedError):
        await _exhaust(served.graph.astream({"text": "<EMAIL>"}, served.config, stream_mode=["debug", "tasks"]), events)
    assert "example.com" not in repr(events)
    with pytest.raises(RunFailedError):
        await _exhaust(served.graph.astream(None, served.config, stream_mode=["debug", "checkpoints"]), events)
    state = await served.graph.aget_state(served.config)
    assert "RunFailedError" not in repr(state.tasks)
    assert "ValueError" in str(state.tasks[0].error)
    assert "lithium" not in str(state.tasks[0].error)
    errors = [
        event[1]["payload"]["error"] for event in events if event[0] == "debug" and "error" in event[1]["payload"]
    ]
    errors += [
        task["error"] for mode, each in events if mode == "checkpoints" for task in each["tasks"] if "error" in task
    ]
    assert len(errors) > 1
    assert all(error is None or ("ValueError" in error and "lithium" not in error) for error in errors)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return what all loggers write, down to the last detail."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)


async def test_what_langgraph_logs_of_a_retry_is_the_class_only(server: Any, log: io.StringIO) -> None:
    retry = RetryPolicy(max_attempts=2, initial_interval=0.01, jitter=False, retry_on=ValueError)
    await caught(server, failing(lambda: ValueError(SECRET), retry=retry), "astream")
    assert "Retrying task node" in log.getvalue()
    assert "lithium" not in log.getvalue()


@pytest.mark.slow
async def test_two_nodes_that_fail_at_once_leave_nothing_for_the_log(server: Any, log: io.StringIO) -> None:
    async def node(state: State) -> State:
        await asyncio.sleep(0)
        raise ValueError(state["text"])

    graph = StateGraph(State)
    for name in "ab":
        graph.add_node(name, node)
        graph.add_edge(START, name)
    error = await caught(server, graph.compile(), "astream")
    assert isinstance(error, DiscreetError)
    gc.collect()
    await asyncio.sleep(0)
    assert "lithium" not in log.getvalue()


async def test_no_frame_of_the_guard_shows_what_the_graph_was_called_with(server: Any) -> None:
    served = server(failing(lambda: ValueError(SECRET)))
    config = {"configurable": {"thread_id": "frames", "note": SECRET}}
    with pytest.raises(RunFailedError) as caught_:
        await _exhaust(served.graph.astream({"text": SECRET}, config, context={"note": SECRET}))
    frames = [
        frame for frame, _ in traceback.walk_tb(caught_.value.__traceback__) if "guard" in frame.f_globals["__name__"]
    ]
    ours = [frame.f_locals for frame in frames if frame.f_globals["__name__"].startswith("discreet.")]
    assert len(ours) > 1
    assert "example.com" not in repr(ours)
