"""Channels of all types that LangGraph's serializer knows, and of one that it leaves to pickle."""

from __future__ import annotations

import json
from collections import deque
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID

import numpy as np
from kit.sentences import SAID
from kit.values import ip
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages
from langgraph.pregel import Pregel
from pydantic import SecretStr

from testkit.planting.manifest import Book
from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.states import Booking, CustomerFile, Mood, Place, Plan, Profile
from testkit.planting.turns import next_result, turn


class Everything(TypedDict, total=False):
    """A state that has one of each."""

    messages: Annotated[list[AnyMessage], add_messages]
    profile: Profile
    booking: Booking
    plan: Plan
    place: Place
    seen: set[str]
    pair: tuple[str, int]
    recent: deque[str]
    key: SecretStr
    host: IPv4Address
    raw: bytes
    names: np.ndarray[Any, Any]
    vector: np.ndarray[Any, Any]
    nested: dict[str, Any]
    by_email: dict[str, dict[str, Any]]
    note: str
    due: datetime
    price: Decimal
    ident: UUID
    mood: Mood
    path: Path
    left: timedelta


def _fill(state: Everything) -> dict[str, Any]:
    return {"messages": [AIMessage("Filled.")], **next_result({})}


def _use(state: Everything) -> dict[str, Any]:
    """Use what is there as what it was: it fails on a value of another type."""
    if "profile" in state:
        state["profile"].tags.append(state["booking"].reference)
        usable = {
            "plan": state["plan"]["steps"][0]["done"],
            "place": state["place"].label == "home",
            "seen": len(state["seen"]) == 2,
            "pair": state["pair"][1] == 7,
            "recent": len(state["recent"]) == 2 and isinstance(state["recent"], deque),
            "key": state["key"].get_secret_value(),
            "host": state["host"].version == 4,
            "raw": state["raw"].decode(),
            "names": state["names"].shape == (2,),
            "vector": float(state["vector"].sum()) == 36,
            "nested": json.loads(state["nested"]["body"])["reply_to"],
            "by_email": len(state["by_email"]) == 1,
            "left": state["due"] + state["left"] > state["due"],
            "price": state["price"] * 2 > state["price"],
            "ident": state["ident"].version == 4,
            "mood": state["mood"] is Mood.CALM,
            "path": state["path"].suffix == ".txt",
        }
        assert all(usable.values()), [name for name, used in usable.items() if not used]
    return {"messages": [AIMessage("Used.")]}


def build() -> Pregel[Any, Any, Any, Any]:
    """Return a graph of two nodes: one fills the channels, the other uses them."""
    graph = StateGraph(Everything)
    graph.add_node("fill", _fill)
    graph.add_node("use", _use)
    graph.add_edge(START, "fill")
    graph.add_edge("fill", "use")
    return graph.compile()


async def plant(session: Session) -> None:
    """Fill all channels."""
    with turn(results=[_values(session.book)]):
        await session.run({"messages": [HumanMessage(session.book.said("human_message"))]})


def _values(book: Book) -> dict[str, Any]:
    places = ("blobs", "writes")
    names = [SAID["EMAIL"]["en"][0](book.chance()) for _ in range(2)]
    for name in names:
        book.keep(name, "EMAIL", "numpy_text", *places, stored=name.encode("utf-32-le"))
    return {
        "profile": Profile("Ann", book.plain("dataclass", *places), tags=[book.said("dataclass", *places)]),
        "booking": Booking(
            reference="K7-1", contact=book.plain("pydantic", *places), extra={"note": book.said("pydantic", *places)}
        ),
        "plan": Plan(
            goal=book.said("typed_dict", *places), steps=[{"title": book.said("typed_dict", *places), "done": True}]
        ),
        "place": Place("home", book.said("named_tuple", *places, types=("ADDRESS",))),
        "seen": {book.plain("set", *places), book.plain("set", *places)},
        "pair": (book.plain("tuple", *places), 7),
        "recent": deque([book.said("deque", *places), "nothing"]),
        "key": SecretStr(book.plain("secret_str", *places, types=("SECRET",))),
        "host": IPv4Address(book.keep(ip(book.chance()), "IP", "ip_object", *places)),
        "raw": book.said("bytes", *places).encode(),
        "names": np.array(names),
        "vector": np.arange(1, 9, dtype=np.float32),
        "nested": {
            "body": json.dumps({"reply_to": book.plain("nested_json", *places, types=("EMAIL",))}),
            "depth": [[{"a": book.said("nested_list", *places)}]],
        },
        "by_email": {book.plain("dict_key", *places, types=("EMAIL",)): {"visits": 3}},
        "note": book.said("inline_channel", "checkpoint"),
        "due": datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC),
        "price": Decimal("19.99"),
        "ident": UUID(int=book.random.getrandbits(128), version=4),
        "mood": Mood.CALM,
        "path": Path("/srv", book.plain("path", *places, types=("EMAIL",)), "letter.txt"),
        "left": timedelta(days=2),
    }


class Filed(TypedDict, total=False):
    """A state with an object that only pickle can write."""

    messages: Annotated[list[AnyMessage], add_messages]
    file: CustomerFile


def _count(state: Filed) -> dict[str, Any]:
    return {"messages": [AIMessage(f"{state['file'].count()} pages.")]}


def build_pickled() -> Pregel[Any, Any, Any, Any]:
    """Return a graph that keeps such an object."""
    graph = StateGraph(Filed)
    graph.add_node("count", _count)
    graph.add_edge(START, "count")
    return graph.compile()


async def plant_pickled(session: Session) -> None:
    """Give it a file."""
    book = session.book
    file = CustomerFile(book.plain("pickle_object"), [book.said("pickle_object"), book.said("pickle_object")])
    await session.run({"messages": [HumanMessage(book.said("human_message"))], "file": file})


CHANNELS = Scenario(build, plant)
PICKLED = Scenario(build_pickled, plant_pickled, serializer="pickling")
