"""A shop whose model is as strict as a provider, its savers over real rows, and a way to drive it sync or async."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kit.planter import WORDS, Planter
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from discreet.checkpoint import CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.state.conversation import InputState
from discreet.testing import StrictChatModel

ORDER = re.compile(r"use:(\w+)")

POOL: dict[str, Any] = {"min_size": 1, "max_size": 4, "kwargs": CONNECTION, "open": False}


KINDS = ["memory:async", "memory:sync", "postgres:async", "postgres:sync"]
DURABILITIES = ["sync", "async", "exit"]
PAIRS = [
    ("memory:async", "sync"),
    ("memory:sync", "async"),
    ("memory:async", "exit"),
    ("postgres:async", "async"),
    ("postgres:sync", "exit"),
]
"""Each kind of rows, face and durability once at least, and not all twelve."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test over all kinds of rows, or with all durabilities, or over some pairs where it asks for both.

    A module's ROWS names the kinds that its tests can use; `asynchronous` and `blocking` are rows of one face.
    """
    kinds = getattr(metafunc.module, "ROWS", KINDS)
    for fixture, face in {"asynchronous": ":async", "blocking": ":sync"}.items():
        if fixture in metafunc.fixturenames:
            kinds = [kind for kind in kinds if kind.endswith(face)]
    names = [marker.args[0] for marker in metafunc.definition.iter_markers("parametrize")]
    given = {name for item in names for name in (item.split(", ") if isinstance(item, str) else item)}
    wanted = [name for name in ("rows", "durability") if name in metafunc.fixturenames and name not in given]
    match "rows" in wanted, "durability" in wanted:
        case True, True:
            pairs = [pair for pair in PAIRS if pair[0] in kinds] or list(zip(kinds * 2, DURABILITIES, strict=False))
            metafunc.parametrize(("rows", "durability"), pairs, indirect=True)
        case True, False:
            metafunc.parametrize("rows", kinds, indirect=True)
        case False, True:
            metafunc.parametrize("durability", DURABILITIES, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Play in the fast suite enough of each test that any two of its values meet, and the rest with the slow tests.

    The values are those of its own parameters (shapes of graphs, turns before), and kind, face and durability.
    """
    folder = Path(__file__).parent
    tests: dict[str, dict[pytest.Item, set[Any]]] = defaultdict(dict)
    for item in items:
        if item.path.parent == folder and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            tests[item.nodeid.split("[")[0]][item] = _meetings(item.callspec.params)
    for left in tests.values():
        while any(left.values()):
            best = max(left, key=lambda item: len(left[item]))
            met = left.pop(best)
            left.update({item: meetings - met for item, meetings in left.items()})
        for item in left:
            item.add_marker(pytest.mark.slow)


def _meetings(params: Mapping[str, Any]) -> set[Any]:
    """Return which two values of a test meet in one of its items; of a test with one value, that one."""
    values: dict[str, Any] = {name: id(value) for name, value in params.items() if name not in {"rows", "durability"}}
    if "rows" in params:
        values["kind"], values["face"] = params["rows"].split(":")
    if "durability" in params:
        values["durability"] = params["durability"]
    return set(combinations(values.items(), min(2, len(values))))


class Shop:
    """A model that uses the tools a user's text orders ("use:note use:ask"), and a record of what the tools did."""

    def __init__(self, seed: int | None = None) -> None:
        self.model = StrictChatModel(answer=self._answer)
        self.runs: list[str] = []
        """What really happened: a tool notes its name here once nothing can stop it."""
        self.attempts: list[str] = []
        """Calls of tools, also those that ask or raise."""
        self.broken = True
        """Whether `fail` raises."""
        self.before_failing: Callable[[], Any] = lambda: None
        self.in_tool: Callable[[], Any] = lambda: None
        """What `note` does in the middle of its work."""
        self.planted = Planter(families=[WORDS]) if seed is None else Planter(seed, [WORDS])
        self.word = self.planted.kept
        """In every user's message, once."""
        self.email = self.planted.email("mail")
        self.plan = f"plan {self.word}"
        """What the model says beside a call of a tool: stored if the turn pauses, since the user has read it then."""

    def raw(self, what: str) -> str:
        """Return what no database may hold, and no other test says: a file of the server has what several of them wrote."""
        return self.planted.raw(what)

    def hidden(self) -> dict[str, str]:
        """Return what no database may hold of a turn that uses a tool, by name."""
        return {"mail": self.email, "plan": self.plan, "result": self.raw("result"), "query": self.raw("query")}

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        asked = max(index for index, message in enumerate(messages) if isinstance(message, HumanMessage))
        said = messages[asked].text.split()
        orders = ORDER.findall(messages[asked].text)
        given = [message for message in messages[asked:] if isinstance(message, ToolMessage)]
        if orders and not given:
            calls = [
                {"name": name, "args": {"query": self.raw("query")}, "id": f"call-{uuid4().hex}"} for name in orders
            ]
            return AIMessage(f"let me plan {' '.join(said[2:3])}", tool_calls=calls)
        return AIMessage(f"answer to {' '.join(said[:2])} after {len(given)} results")

    @property
    def tools(self) -> list[BaseTool]:
        """The tools: `note` works, `fail` raises while the shop is broken, `ask` and `ask_twice` ask first."""

        @tool
        def note(query: str) -> str:
            """Note something."""
            self.attempts.append("note")
            self.in_tool()
            self.runs.append("note")
            return self.raw("result")

        @tool
        def fail(query: str) -> str:
            """Fail."""
            self.attempts.append("fail")
            if self.broken:
                self.before_failing()
                raise LookupError("raw error")
            self.runs.append("fail")
            return self.raw("result")

        @tool
        def ask(query: str) -> str:
            """Ask, then act."""
            self.attempts.append("ask")
            answer = interrupt({"question": self.raw("question")})
            self.runs.append(f"ask {answer}")
            return f"{self.raw('result')} {answer}"

        @tool
        def ask_twice(query: str) -> str:
            """Ask two things one after the other, then act."""
            self.attempts.append("ask_twice")
            answers = [interrupt("raw first"), interrupt("raw second")]
            self.runs.append(f"ask_twice {answers}")
            return self.raw("result")

        return [note, fail, ask, ask_twice]

    def say(self, text: str) -> dict[str, Any]:
        """Return a user's message that ends with a word to find and an e-mail address to be redacted."""
        return {"messages": [HumanMessage(f"{text} {self.word} {self.email}")]}

    def loop(self, saver: Any, **options: Any) -> Any:
        """A model and its tools; the model is the first node."""
        builder = StateGraph(InputState)
        builder.add_node(
            "model",
            self._call_model,
        )
        builder.add_node("tools", ToolNode(self.tools, handle_tool_errors=False))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", tools_condition)
        builder.add_edge("tools", "model")
        return builder.compile(checkpointer=saver, **options)

    def guarded(self, saver: Any, **options: Any) -> Any:
        """An action that asks, or fails, before anything else: the first node is the one that stops."""
        builder = StateGraph(InputState)
        builder.add_node("gate", self._gate)
        builder.add_node("model", self._call_model)
        builder.add_edge(START, "gate")
        builder.add_edge("gate", "model")
        builder.add_edge("model", END)
        return builder.compile(checkpointer=saver, **options)

    def _call_model(self, state: InputState) -> dict[str, list[AnyMessage]]:
        return {"messages": [self.model.invoke(state["messages"])]}

    def _gate(self, state: InputState) -> dict[str, list[AnyMessage]]:
        text = state["messages"][-1].text
        if "gate:ask" in text:
            self.attempts.append("gate")
            self.runs.append(f"gate {interrupt(self.raw('question'))}")
        if "gate:note" in text:
            self.in_tool()
            self.runs.append("gate")
        if "gate:fail" in text and self.broken:
            self.attempts.append("gate")
            raise LookupError("raw error")
        return {}


@dataclass
class Talk:
    """Calls a graph by its sync or its async methods."""

    graph: Any
    sync: bool
    config: dict[str, Any] = field(default_factory=lambda: {"configurable": {"thread_id": "1"}})

    async def invoke(self, given: Any, config: Any = None, **options: Any) -> Any:
        config = config or self.config
        return (
            self.graph.invoke(given, config, **options)
            if self.sync
            else await self.graph.ainvoke(given, config, **options)
        )

    async def stream(self, given: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        config = config or self.config
        if self.sync:
            for chunk in self.graph.stream(given, config, **options):
                yield chunk
        else:
            async for chunk in self.graph.astream(given, config, **options):
                yield chunk

    async def state(self, config: Any = None, **options: Any) -> Any:
        config = config or self.config
        return self.graph.get_state(config, **options) if self.sync else await self.graph.aget_state(config, **options)

    async def history(self, **options: Any) -> list[Any]:
        if self.sync:
            return list(self.graph.get_state_history(self.config, **options))
        return [state async for state in self.graph.aget_state_history(self.config, **options)]

    async def update(self, values: Any, config: Any = None, **options: Any) -> Any:
        config = config or self.config
        return (
            self.graph.update_state(config, values, **options)
            if self.sync
            else await self.graph.aupdate_state(config, values, **options)
        )

    async def bulk_update(self, supersteps: Sequence[Any]) -> Any:
        return (
            self.graph.bulk_update_state(self.config, supersteps)
            if self.sync
            else await self.graph.abulk_update_state(self.config, supersteps)
        )

    async def texts(self, config: Any = None) -> list[str]:
        """Return the two first words of every message, with its type's first letter, as `h:hello there`."""
        return texts((await self.state(config)).values)


def texts(values: Any) -> list[str]:
    return [f"{message.type[0]}:{' '.join(message.text.split()[:2])}" for message in values.get("messages", [])]


@dataclass
class Rows:
    """Savers over the same rows. Each call of `open` is like another process."""

    open: Callable[..., Any]
    """Takes a policy, or none, and further arguments of a saver."""
    sync: bool
    policy: CheckpointPolicy | None = None
    """Of the savers that a talk opens itself."""

    def talk(self, make: Callable[..., Any], saver: Any = None, **options: Any) -> Talk:
        """Return a talk to a graph of `make`, over a new saver unless one is given."""
        saver = saver or (self.open(self.policy) if self.policy else self.open())
        return Talk(make(saver, **options), self.sync)

    def on_saver(self, saver: Any, name: str) -> Callable[..., Any]:
        """Return a method of `saver`, to await in either case."""

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.sync:
                return getattr(saver, name)(*args, **kwargs)
            return await getattr(saver, f"a{name}")(*args, **kwargs)

        return call


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def relay(migrated_relay: Any) -> Any:
    """Return a relay to a database with the savers' tables."""
    return migrated_relay


@pytest.fixture
async def rows(request: pytest.FixtureRequest) -> AsyncIterator[Rows]:
    """Return savers over rows in memory or PostgreSQL."""
    kind, face = request.param.split(":")
    options: dict[str, Any] = {}
    if kind == "relay":
        relay = request.getfixturevalue("relay")
        dsn, options = relay.dsn, outage_options(relay, face)
    elif kind != "memory":
        dsn = request.getfixturevalue("database")
    if kind == "memory":
        inner = InMemorySaver()
        kind = RedactingSaver if face == "async" else RedactingSyncSaver
        yield Rows(lambda policy=None, **more: kind(inner, policy=policy, **more), face == "sync")
    elif face == "sync":
        with open_pool(dsn, **options) as pool:
            yield Rows(lambda policy=None, **more: RedactingSyncSaver.from_pool(pool, policy, **more), True)
    else:
        async with aopen_pool(dsn, **options) as pool:
            yield Rows(lambda policy=None, **more: RedactingSaver.from_pool(pool, policy, **more), False)


@pytest.fixture
def asynchronous(rows: Rows) -> Rows:
    """Return rows whose savers are async."""
    return rows


@pytest.fixture
def blocking(rows: Rows) -> Rows:
    """Return rows whose savers are not."""
    return rows


def outage_options(relay: Any, face: str) -> dict[str, Any]:
    """Return options of a pool behind a relay: while it is down, whoever wants a connection is refused at once.

    Without them an outage makes each call wait for 30 s, and for as long again as it lasted when it is over. A short
    time-out would do for that, but could end while the relay is up, and would not hold for those who wait already.
    The pool hands out no dead connection.
    """

    def refused(pool: Any) -> list[Any]:
        waiting = [*pool._waiting]  # before the look at the relay: nobody who came after it was mended
        return waiting if relay._listener is None else []

    def give_up(pool: Any) -> None:
        for client in refused(pool):
            client.fail(PoolTimeout("the relay is down"))
        pool.check()  # of those who came later one may rely on this attempt

    async def agive_up(pool: Any) -> None:
        for client in refused(pool):
            await client.fail(PoolTimeout("the relay is down"))
        await pool.check()

    return {"reconnect_timeout": 0, "checked": True, "reconnect_failed": give_up if face == "sync" else agive_up}


@contextmanager
def open_pool(dsn: str, **options: Any) -> Iterator[Any]:
    if options.pop("checked", False):
        options["check"] = ConnectionPool.check_connection
    with ConnectionPool(dsn, **POOL, **options) as pool:
        pool.wait()
        yield pool


@asynccontextmanager
async def aopen_pool(dsn: str, **options: Any) -> AsyncIterator[Any]:
    if options.pop("checked", False):
        options["check"] = AsyncConnectionPool.check_connection
    async with AsyncConnectionPool(dsn, **POOL, **options) as pool:
        await pool.wait()
        yield pool


@pytest.fixture
def stock(rows: Rows) -> Rows:
    """Return LangGraph's own saver, to compare with; driven the same way."""
    return Rows(InMemorySaver, rows.sync)


@pytest.fixture
def durability(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"durability": request.param}
