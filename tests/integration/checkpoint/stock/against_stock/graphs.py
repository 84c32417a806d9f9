"""Build the graph of a program. What a node does follows from the program, the state and how often it ran: nothing else.

Words tell what a text is: `raw…` may never be stored, `say…` only in an answer.
"""

from __future__ import annotations

import asyncio
import operator
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from inspect import isawaitable
from typing import Annotated, Any, NotRequired
from uuid import UUID, uuid5

from langchain_core.messages import AIMessage, AnyMessage, ChatMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from against_stock.programs import Program, Stage
from against_stock.projection import TOLD_TOOL

IDS = UUID("7e0d5c52-6c0f-4f0e-9a53-0d7c2a6f3c11")
MAIL, LONG = "@mail.example", "long" * 20
"""Ends of ids that may not be stored as they are."""


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    log: NotRequired[Annotated[list[str], operator.add]]
    mark: NotRequired[str]
    rounds: NotRequired[int]
    private: NotRequired[dict[str, str]]


class SubState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    mark: NotRequired[str]


class MemoState(TypedDict):
    memory: NotRequired[Annotated[list[str], operator.add]]
    mark: NotRequired[str]


class Boom(Exception):  # it is no error of anybody
    """A node was told to raise."""


Hook = Callable[[], Any]
Node = Callable[[Any], Any]


class Script:
    """What the nodes of one side share: which operation runs, and which nodes have run in it."""

    def __init__(self, program: Program) -> None:
        self._foreign_ids = program.foreign_ids
        self.op = 0
        self.fails: str | None = None
        self.runs: Counter[str] = Counter()
        self.hook: Hook | None = None
        self._lock = threading.Lock()

    def begin(self, op: int, fails: str | None = None, hook: Hook | None = None) -> None:
        """Start an operation; `hook` is called by the first node that runs, and what it returns is awaited."""
        self.op, self.fails, self.runs, self.hook = op, fails, Counter(), hook

    def run(self, node: str, detail: object = "") -> str:
        """Note that `node` runs, and return a word of its own. Raise if it was told to, once."""
        with self._lock:
            self.runs[f"{node}{detail}"] += 1
            count = self.runs[f"{node}{detail}"]
            if self.fails == node and detail in {"", 0} and count == 1:
                self.fails = None
                raise Boom(f"raw{node}fails.")
        return f"{node}x{detail}x{self.op}x{count}."

    def message_id(self, word: str) -> str:
        """Return an id, the same for the same word."""
        made = uuid5(IDS, word)
        kinds = [str(made), f"m{made.hex[:8]}", f"resp_{made.hex}", f"{made.hex}{MAIL}", f"{made.hex}{LONG}"]
        return kinds[made.int % len(kinds)] if self._foreign_ids else kinds[0]

    def take_hook(self) -> Hook | None:
        """Return what the first node that runs has to call, once."""
        with self._lock:
            hook, self.hook = self.hook, None
            return hook


def is_parallel(node: str) -> bool:
    """Return whether `node` runs beside others."""
    return node.endswith(("left", "right", "work"))


def is_inside(node: str) -> bool:
    """Return whether `node` runs another graph."""
    return node.startswith(("sub", "memo", "loose", "agent"))


class Nodes:
    """The nodes of a graph by name, and where each stage begins and ends."""

    def __init__(self, program: Program, script: Script, *, asynchronous: bool) -> None:
        self._script = script
        self._async = asynchronous
        self._builder = StateGraph(State)
        self.working: list[str] = []
        """Nodes that can raise, those of subgraphs too."""
        self._entries = [f"{stage.kind}{number}" for number, stage in enumerate(program.stages)]
        last: Sequence[str] | str = START
        for number, stage in enumerate(program.stages):
            entry = self._entries[number]
            if last:
                self._builder.add_edge(last, entry)
            last = getattr(self, f"_add_{stage.kind}")(entry, stage, number)
        if last:
            self._builder.add_edge(last, END)

    def compile(self, saver: Any, before: int) -> Any:
        """Return the graph; runs stop before the node of number `before`."""
        names = self.names()
        return self._builder.compile(
            checkpointer=saver, interrupt_before=[names[before % len(names)]] if before >= 0 else None
        )

    def names(self) -> list[str]:
        """Return the names of the graph's nodes."""
        return sorted(self._builder.nodes)

    def _add(self, name: str, node: Node, builder: StateGraph[Any] | None = None) -> str:
        def whole(state: Any) -> Any:
            if hook := self._script.take_hook():
                hook()
            return node(state)

        async def anode(state: Any) -> Any:
            if hook := self._script.take_hook():
                await hook()
            if self._script.fails == name and is_parallel(name) and state.get("number", 0) == 0:
                for _ in range(100):  # LangGraph cancels what still runs when one fails; the others shall be through
                    await asyncio.sleep(0)
            made = node(state)
            return await made if isawaitable(made) else made

        (builder or self._builder).add_node(name, anode if self._async else whole)
        self.working.append(name)
        return name

    def _add_idle(self, *names: str) -> None:
        async def idle(_: Any) -> Any:
            return {}

        for name in names:
            self._builder.add_node(name, idle if self._async else lambda _: {})

    def _said(self, name: str, detail: object = "") -> AIMessage:
        word = "say" + self._script.run(name, detail)
        return AIMessage(word, id=self._script.message_id(word))

    def _add_say(self, name: str, stage: Stage, number: int) -> str:
        return self._add(name, lambda _: {"messages": [self._said(name)]})

    def _add_note(self, name: str, stage: Stage, number: int) -> str:
        def note(_: State) -> Any:
            word = self._script.run(name)
            return {"log": [f"log{word}"], "mark": f"mark{word}", "private": {"note": f"raw{word}"}}

        return self._add(name, note)

    def _add_ask(self, name: str, stage: Stage, number: int) -> str:
        return self._add(name, lambda _: {"messages": [self._asked(name)]})

    def _asked(self, name: str, detail: object = "") -> AIMessage:
        answer = interrupt({"question": f"raw{name}asks."})
        word = "say" + self._script.run(name, detail)
        return AIMessage(f"{word} {answer}", id=self._script.message_id(word))

    def _add_hear(self, name: str, stage: Stage, number: int) -> str:
        """Add a node that asks, and takes the answer for a message of the user."""

        def hear(_: State) -> Any:
            answer = interrupt({"question": f"raw{name}asks."})
            word = self._script.run(name)
            return {"messages": [HumanMessage(str(answer), id=self._script.message_id(word))]}

        return self._add(name, hear)

    def _add_write(self, name: str, stage: Stage, number: int) -> str:
        """Add a node that writes a message in the user's place."""

        def write(_: State) -> Any:
            word = "raw" + self._script.run(name)
            return {"messages": [HumanMessage(word, id=self._script.message_id(word))]}

        return self._add(name, write)

    def _add_end(self, name: str, stage: Stage, number: int) -> str:
        """Add a model that calls tools which no node runs."""

        def call(_: State) -> Any:
            word = "raw" + self._script.run(name)
            calls = [{"name": "look", "args": {"query": word}, "id": f"{word}{at}"} for at in range(stage.count)]
            return {"messages": [AIMessage(word, id=self._script.message_id(word), tool_calls=calls)]}

        return self._add(name, call)

    def _add_tool(self, name: str, stage: Stage, number: int) -> str:
        tools, done = f"{name}run", f"{name}done"

        def plan(state: State) -> Any:
            word = "raw" + self._script.run(name)
            call = {"name": "look", "args": {"query": word}, "id": f"raw{state.get('rounds', 0)}."}
            return {"messages": [AIMessage(word, id=self._script.message_id(word), tool_calls=[call])]}

        def run(state: State) -> Any:
            answer = interrupt({"question": f"raw{tools}asks."}) if stage.asks else ""
            word, rounds = "raw" + self._script.run(tools), state.get("rounds", 0)
            result = ToolMessage(f"{word} {answer}", tool_call_id=f"raw{rounds}.", id=self._script.message_id(word))
            result.name = TOLD_TOOL if stage.told else "look"
            return {"messages": [result], "rounds": rounds + 1}

        self._add(name, plan)
        self._add(tools, run)
        self._add_idle(done)
        self._builder.add_edge(name, tools)
        self._route(tools, lambda state: name if state.get("rounds", 0) % stage.count else done, [name, done])
        return done

    def _add_fan(self, name: str, stage: Stage, number: int) -> str:
        work = f"{name}work"

        def do(packet: Any) -> Any:
            if stage.asks:
                return {"messages": [self._asked(work, packet["number"])]}
            said = self._said(work, packet["number"])
            return {"messages": [said], "log": [f"log{said.text}".replace("say", "")]}

        self._add_idle(name, f"{name}done")
        self._add(work, do)
        packets = [Send(work, {"number": number, "note": f"raw{name}send."}) for number in range(stage.count)]
        self._route(name, lambda _: packets, [work])
        self._builder.add_edge(work, f"{name}done")
        return f"{name}done"

    def _add_calls(self, name: str, stage: Stage, number: int) -> str:
        """Add a model that calls several tools at once, each of which runs as a task of its own."""
        work = f"{name}work"

        def plan(_: State) -> Any:
            word = "raw" + self._script.run(name)
            calls = [{"name": "look", "args": {}, "id": f"{word}{place}"} for place in range(stage.count)]
            return {"messages": [AIMessage(word, id=self._script.message_id(word), tool_calls=calls)]}

        def do(packet: Any) -> Any:
            answer = interrupt({"question": f"raw{work}asks."}) if stage.asks else ""
            word = "raw" + self._script.run(work, packet["number"])
            call_id = packet["call_id"]
            return {
                "messages": [ToolMessage(f"{word} {answer}", tool_call_id=call_id, id=self._script.message_id(word))]
            }

        def packets(state: State) -> Any:
            last = state["messages"][-1]
            calls = last.tool_calls if isinstance(last, AIMessage) else []
            sends = [Send(work, {"number": i, "call_id": call["id"]}) for i, call in enumerate(calls)]
            return sends or f"{name}done"

        self._add(name, plan)
        self._add(work, do)
        self._add_idle(f"{name}done")
        self._route(name, packets, [work, f"{name}done"])
        self._builder.add_edge(work, f"{name}done")
        return f"{name}done"

    def _add_jump(self, name: str, stage: Stage, number: int) -> str:
        later = [*self._entries[number + 1 :], END]
        goto = later[stage.target % len(later)]

        def jump(_: State) -> Any:
            return Command(update={"log": ["log" + self._script.run(name)]}, goto=goto)

        self._add(name, jump)
        return ""

    def _add_pair(self, name: str, stage: Stage, number: int) -> str:
        left, right, both = f"{name}left", f"{name}right", f"{name}both"
        self._add_idle(name)
        self._add_ask(left, stage, number) if stage.asks else self._add_say(left, stage, number)
        self._add_note(right, stage, number)
        self._add(both, lambda _: {"mark": "mark" + self._script.run(both)})
        self._builder.add_edge(name, left)
        self._builder.add_edge(name, right)
        self._builder.add_edge([left, right], both)
        return both

    def _add_sub(self, name: str, stage: Stage, number: int) -> str:
        self._builder.add_node(name, self._subgraph(SubState, name, stage, None))
        return name

    def _add_memo(self, name: str, stage: Stage, number: int) -> str:
        self._builder.add_node(name, self._subgraph(MemoState, name, stage, True))  # LangGraph's name for "stateful"
        return name

    def _add_loose(self, name: str, stage: Stage, number: int) -> str:
        """Add a stateful subgraph that the policy doesn't name."""
        return self._add_memo(name, stage, number)

    def _add_agent(self, name: str, stage: Stage, number: int) -> str:
        """Add a tool that is an agent: a node that invokes a graph."""
        agent = self._subgraph(SubState, name, stage, None)

        def answer(result: Any) -> Any:
            word = "raw" + self._script.run(name)
            return {"messages": [AIMessage(f"{word} {len(result['messages'])}", id=self._script.message_id(word))]}

        def run(_: State) -> Any:
            return answer(agent.invoke({"messages": [HumanMessage(f"raw{name}task.", id=f"{name}task")]}))

        async def arun(_: State) -> Any:
            return answer(await agent.ainvoke({"messages": [HumanMessage(f"raw{name}task.", id=f"{name}task")]}))

        return self._add(name, arun if self._async else run)

    def _subgraph(self, schema: type, name: str, stage: Stage, checkpointer: Any) -> Any:
        builder = StateGraph(schema)
        last = START
        for number, inner in enumerate(stage.inner):
            node = f"{name}in{number}"
            self._add(node, self._inner(schema, node, inner), builder)
            builder.add_edge(last, node)
            last = node
        return builder.compile(checkpointer=checkpointer)

    def _inner(self, schema: type, name: str, stage: Stage) -> Node:
        def remember(state: MemoState) -> Any:
            answer = interrupt({"question": f"raw{name}asks."}) if stage.kind == "ask" else ""
            seen = len(state.get("memory", []))
            return {"memory": [f"{'log' + self._script.run(name)} {answer}"], "mark": f"mark{seen}"}

        if schema is MemoState:
            return remember
        if stage.kind == "note":
            return lambda _: {"mark": "mark" + self._script.run(name)}
        return lambda _: {"messages": [self._asked(name) if stage.kind == "ask" else self._said(name)]}

    def _add_drop(self, name: str, stage: Stage, number: int) -> str:
        def drop(state: State) -> Any:
            self._script.run(name)
            said = [m for m in state["messages"][-1:] if isinstance(m, AIMessage) and not m.tool_calls]
            return {"messages": [RemoveMessage(id=m.id) for m in said if m.id]}

        return self._add(name, drop)

    def _add_edit(self, name: str, stage: Stage, number: int) -> str:
        def edit(state: State) -> Any:
            word = self._script.run(name)
            users = [m for m in state["messages"] if isinstance(m, HumanMessage | ChatMessage) and "user" in m.text]
            edited = [f"edited {word} {m.text[m.text.index('user') :]}" for m in users]
            return {"messages": [HumanMessage(edited[-1], id=users[-1].id)] if users else []}

        return self._add(name, edit)

    def _add_clear(self, name: str, stage: Stage, number: int) -> str:
        """Add a node that takes all messages away, and may put words of its own in their place."""

        def clear(_: State) -> Any:
            word = "raw" + self._script.run(name)
            said = word.replace("raw", "say")
            ours = [
                HumanMessage(word, id=self._script.message_id(word)),
                AIMessage(said, id=self._script.message_id(said)),
            ]
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *ours[2 - stage.count :]]}

        return self._add(name, clear)

    def _route(self, source: str, choose: Callable[[State], Any], targets: list[str]) -> None:
        async def achoose(state: State) -> Any:
            return choose(state)

        self._builder.add_conditional_edges(source, achoose if self._async else choose, targets)
