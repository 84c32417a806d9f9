"""A small agent of the template's shape, with something planted wherever it could leak from."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NotRequired
from uuid import uuid4

import pytest
from kit.places import ChangedFiles, rows
from kit.planter import WORDS, Planter
from kit.search import Words, search
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from discreet.state.conversation import ConversationState


class AgentState(ConversationState):
    locale: NotRequired[str]
    note: NotRequired[str]


class Update(TypedDict, total=False):
    messages: list[AnyMessage]
    request: Any
    gate: Any
    memories: Any
    locale: str
    note: str


class Agent:
    """The graph, the words planted in it, and how often its tool ran."""

    def __init__(self) -> None:
        self.planted = Planter(families=[WORDS])
        self.tool_runs = 0

    def plant(self, where: str) -> str:
        """A word that no redactor knows: only structure can keep it out."""
        return self.planted.raw(where)

    def keep(self, what: str) -> str:
        return self.planted.keep(what)

    @property
    def email(self) -> str:
        return self.planted.email("mail")

    def config(self, thread_id: str) -> dict[str, Any]:
        return {
            "configurable": {"thread_id": thread_id, "api_key": self.plant("configurable")},
            "metadata": {"tenant": self.plant("metadata")},
            "tags": [self.plant("tag")],
        }

    def say(self, text: str) -> dict[str, Any]:
        message = HumanMessage(
            f"{text} {self.keep('user')} {self.email}",
            id=self.plant("id") + uuid4().hex,
            name=self.plant("name"),
            additional_kwargs={"note": self.plant("userkwargs")},
        )
        return {"messages": [message]}

    def save_input(self, state: AgentState) -> Update:
        return {
            "request": {"request_id": "1", "text": self.plant("request")},
            "locale": f"{self.keep('locale')} {self.email}",
            "note": self.plant("inline"),
        }

    def memory_gate(self, state: AgentState) -> Update:
        return {"gate": {"retrieve": True, "reason": self.plant("gate")}}

    def retrieve_memories(self, state: AgentState) -> Update:
        return {"memories": [{"text": self.plant("memory")}], "messages": [SystemMessage(self.plant("system"))]}

    def assistant(self, state: AgentState) -> Update:
        last = state["messages"][-1]
        asked = next(m.text for m in reversed(state["messages"]) if isinstance(m, HumanMessage))
        if isinstance(last, ToolMessage) or "tool" not in asked:
            return {"messages": [self.answer()]}
        call = {"name": "look_up", "args": {"query": self.plant("args")}, "id": self.plant("callid")}
        plan = AIMessage(self.plant("plan"), tool_calls=[call], additional_kwargs={"reasoning": self.plant("kwargs")})
        return {"messages": [plan]}

    def answer(self) -> AIMessage:
        return AIMessage(
            [
                {"type": "reasoning", "reasoning": self.plant("reasoning")},
                {"type": "text", "text": f"Done {self.keep('answer')} {self.email}"},
            ],
            response_metadata={"model": self.plant("responsemetadata")},
        )

    def tools(self, state: AgentState) -> Update:
        call = state["messages"][-1].tool_calls[0]
        asked = next(m.text for m in reversed(state["messages"]) if isinstance(m, HumanMessage))
        answer = interrupt({"args": self.plant("interrupt")}) if "pause" in asked else ""
        self.tool_runs += 1
        if "raise" in asked:
            raise LookupError(self.plant("exception"))
        text = f"{self.plant('result')} {answer}"
        return {"messages": [ToolMessage(text, tool_call_id=call["id"], artifact={"rows": self.plant("artifact")})]}

    def persist_filtered(self, state: AgentState) -> Update:
        return {"request": None}

    def as_subgraph(self) -> Any:
        """The tool as a graph of its own."""
        builder = StateGraph(AgentState)
        builder.add_node("work", self.tools)
        builder.add_edge(START, "work")
        return builder.compile()

    def compile(self, checkpointer: Any, *, tools: Any = None, **options: Any) -> Any:
        builder = StateGraph(AgentState)
        for node in (
            self.save_input,
            self.memory_gate,
            self.retrieve_memories,
            self.assistant,
            self.persist_filtered,
        ):
            builder.add_node(node.__name__, node)
        builder.add_node("tools", tools or self.tools)
        builder.add_edge(START, "save_input")
        builder.add_edge("save_input", "memory_gate")
        builder.add_edge("memory_gate", "retrieve_memories")
        builder.add_edge("retrieve_memories", "assistant")
        builder.add_conditional_edges(
            "assistant",
            lambda state: "tools" if state["messages"][-1].tool_calls else "persist_filtered",
            ["tools", "persist_filtered"],
        )
        builder.add_edge("tools", "assistant")
        builder.add_edge("persist_filtered", END)
        return builder.compile(checkpointer=checkpointer, **options)


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture(autouse=True)
def changed_files(request: pytest.FixtureRequest) -> ChangedFiles | None:
    """Return the server's files that were written since the test began; None where nobody will search.

    It comes before whatever the test uses.
    """
    if not {"on_disk", "left_by"} & set(request.fixturenames):
        return None
    return ChangedFiles(request.getfixturevalue("server_dsn"))


@pytest.fixture
def on_disk(database: str, changed_files: ChangedFiles) -> Callable[..., set[str]]:
    """Return which of some values, by their names, or of what was planted, are in a row or in a file that has changed.

    There has to be a row, unless there `may_be_empty` tables alone.
    """

    def find(planted: Planter | None = None, *, may_be_empty: bool = False, **values: str) -> set[str]:
        places = chain(rows(database, may_be_empty=may_be_empty), changed_files)
        return set(search(places, planted or Words(**values)).leaks)

    return find
