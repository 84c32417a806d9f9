"""One of the two sides: a saver, the program's graph over it, and what its runs have put."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.types import StateSnapshot

from against_stock.graphs import Nodes, Script, is_parallel
from against_stock.programs import Op, Program
from against_stock.projection import with_stored_ids


@dataclass(frozen=True)
class Put:
    """A checkpoint of the root graph, as LangGraph gave it."""

    thread: str
    id: str
    parent: str
    source: str
    step: int
    messages: tuple[BaseMessage, ...]
    given: tuple[BaseMessage, ...]
    """Messages of an input that no step has written yet."""
    version: Any
    """Of the channel of messages."""
    private: Any
    """Value of the channel that no policy names."""
    input_version: Any
    """Of the channel of inputs."""
    packets: bool
    """Whether tasks are about to run that were sent something."""


@dataclass
class Outcome:
    """What an operation gave."""

    value: Any = None
    error: BaseException | None = None
    puts: list[Put] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)


class Side:
    """Plays operations. `make` returns a saver over the same rows each time."""

    def __init__(self, program: Program, make: Callable[[], Any], runner: asyncio.Runner) -> None:
        self._program = program
        self._make = make
        self._runner = runner
        self._puts: list[Put] = []
        self.script = Script(program)
        self.restart()

    def restart(self) -> None:
        """Go on as another process would."""
        self.saver = self._runner.run(self._made())
        self._record()
        self._graphs: dict[str, Any] = {}

    @contextmanager
    def over(self, saver: Any) -> Iterator[None]:
        """Play with another saver meanwhile."""
        own = self.saver, self._graphs
        self.saver, self._graphs = saver, {}
        self._record()
        yield
        self.saver, self._graphs = own

    @cached_property
    def nodes(self) -> Nodes:
        """The graph's nodes."""
        return Nodes(self._program, self.script, asynchronous=False)

    def failing(self, op: Op, coming: Sequence[str]) -> str | None:
        """Return which node raises. Of parallel ones, only those of an asynchronous graph do so in a known order."""
        nodes = sorted(self.nodes.working, key=lambda name: not name.startswith(tuple(coming)))
        node = nodes[op.fails % len(nodes)] if op.fails >= 0 else None
        return None if node and op.face == "sync" and is_parallel(node) else node

    async def _made(self) -> Any:
        return self._make()  # some savers have to be made on the loop

    def _graph(self, face: str) -> Any:
        if face not in self._graphs:
            nodes = Nodes(self._program, self.script, asynchronous=face == "async")
            self._graphs[face] = nodes.compile(self.saver, self._program.breakpoint)
        return self._graphs[face]

    def run(self, op: Op, number: int, given: Any, config: dict[str, Any], fails: str | None = None) -> Outcome:
        """Run the graph; the node `fails` raises once."""
        self.script.begin(number, fails)
        return self._play(op, lambda graph: self._call(graph, op, given, config))

    def run_and_delete(self, op: Op, number: int, given: Any, thread: str) -> None:
        """Run the graph; the first node deletes the thread."""
        name = "adelete_thread" if op.face == "async" else "delete_thread"
        self.script.begin(number, hook=lambda: getattr(self.saver, name)(thread))
        self._play(op, lambda graph: self._call(graph, op, given, at(thread)))
        if self.script.take_hook():  # no node ran
            self.call(op, "delete_thread", thread)

    def _call(self, graph: Any, op: Op, given: Any, config: dict[str, Any]) -> Any:
        call = graph.ainvoke if op.face == "async" else graph.invoke
        return call(given, config, durability=op.durability)

    def update(self, op: Op, number: int, values: Any, config: dict[str, Any], node: str | None) -> Outcome:
        """Update the state as if `node` had."""
        name = "aupdate_state" if op.face == "async" else "update_state"
        self.script.begin(number)
        return self._play(op, lambda graph: getattr(graph, name)(config, values, as_node=node))

    def call(self, op: Op, method: str, *args: Any) -> None:
        """Call a method of the saver."""
        if op.face == "async":
            self._runner.run(getattr(self.saver, f"a{method}")(*args))
        else:
            getattr(self.saver, method)(*args)

    def state(self, thread: str, face: str, checkpoint_id: str = "") -> StateSnapshot:
        """Return the state of a thread with those of subgraphs, the newest or that of a checkpoint."""
        graph, config = self._graph(face), at(thread, checkpoint_id)
        if face == "async":
            return self._runner.run(graph.aget_state(config, subgraphs=True))
        return graph.get_state(config, subgraphs=True)

    def history(self, thread: str, face: str) -> list[StateSnapshot]:
        """Return all states of a thread, newest first."""
        graph = self._graph(face)
        if face == "sync":
            return list(graph.get_state_history(at(thread)))

        async def read() -> list[StateSnapshot]:
            return [state async for state in graph.aget_state_history(at(thread))]

        return self._runner.run(read())

    def _play(self, op: Op, call: Callable[[Any], Any]) -> Outcome:
        self._puts.clear()
        outcome = Outcome()
        try:
            value = call(self._graph(op.face))
            outcome.value = self._runner.run(value) if op.face == "async" else value
        except Exception as error:  # noqa: BLE001  # whatever one side raises, the other has to
            outcome.error = error
        outcome.puts = list(self._puts)
        outcome.runs = dict(self.script.runs)
        return outcome

    def _record(self) -> None:
        put, aput, puts = self.saver.put, self.saver.aput, self._puts

        def note(config: Any, checkpoint: Checkpoint, metadata: Any) -> None:
            where = config["configurable"]
            if where.get("checkpoint_ns") or (puts and puts[-1].id == checkpoint["id"]):
                return  # a subgraph's, or the second of two methods one of which calls the other
            values = checkpoint["channel_values"]
            puts.append(
                Put(
                    where["thread_id"],
                    checkpoint["id"],
                    where.get("checkpoint_id") or "",
                    metadata.get("source", ""),
                    metadata.get("step", 0),
                    tuple(with_stored_ids(values.get("messages", ()))),
                    tuple(with_stored_ids((values.get("__start__") or {}).get("messages", ()))),
                    checkpoint["channel_versions"].get("messages"),
                    values.get("private"),
                    checkpoint["channel_versions"].get("__start__"),
                    bool(values.get("__pregel_tasks")),
                )
            )

        def recorded(config: Any, checkpoint: Any, metadata: Any, *rest: Any) -> Any:
            note(config, checkpoint, metadata)
            return put(config, checkpoint, metadata, *rest)

        async def arecorded(config: Any, checkpoint: Any, metadata: Any, *rest: Any) -> Any:
            note(config, checkpoint, metadata)
            return await aput(config, checkpoint, metadata, *rest)

        self.saver.put, self.saver.aput = recorded, arecorded


def at(thread: str, checkpoint_id: str = "") -> dict[str, Any]:
    """Return the config of a thread or of one of its checkpoints."""
    where = {"thread_id": thread, "checkpoint_ns": "", **({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}
    return {"configurable": where}
