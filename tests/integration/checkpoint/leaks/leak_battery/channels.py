"""Channels that no policy names: each kind of value, and each kind of channel."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from langchain_core.documents import Document
from langgraph.channels import EphemeralValue, Topic, UntrackedValue
from langgraph.config import get_stream_writer
from langgraph.types import Overwrite
from pydantic import BaseModel

from leak_battery.agents import AgentState, agent_graph, run_tool
from leak_battery.play import Scenario
from leak_battery.scenes import Scene, user_message


class Person(BaseModel):
    name: str


@dataclass
class Visit:
    reason: str


class Mood(Enum):
    GOOD = "good"


class PrivateState(AgentState, total=False):
    text: str
    integer: int
    real: float
    flag: bool
    person: Any
    visit: Any
    mood: Mood
    items: list[str]
    table: dict[str, Any]
    names: set[str]
    data: bytes
    path: Path
    day: date
    document: Document
    total: Annotated[list[str], operator.add]
    passing: Annotated[str, EphemeralValue]
    queue: Annotated[list[str], Topic(str, accumulate=True)]
    hidden: Annotated[str, UntrackedValue]


def private_channels(scene: Scene, saver: Any) -> Any:
    def fill(_: Any) -> dict[str, Any]:
        get_stream_writer()({"progress": scene.raw("streamwriter")})
        return {
            "text": f"{scene.raw('strchannel')} {scene.email('strchannel')}",
            "integer": scene.whole_number(),
            "real": scene.real_number(),
            "flag": True,
            "person": Person(name=scene.raw("pydanticchannel")),
            "visit": Visit(reason=scene.raw("dataclasschannel")),
            "mood": Mood.GOOD,
            "items": [scene.raw("listchannel"), scene.email("listchannel")],
            "table": {scene.raw("dictkey"): scene.raw("dictchannel"), "number": scene.whole_number()},
            "names": {scene.raw("setchannel")},
            "data": scene.raw("byteschannel").encode(),
            "path": Path(scene.raw("pathchannel")),
            "document": Document(scene.raw("document"), metadata={"source": scene.raw("documentmetadata")}),
            "total": Overwrite([scene.raw("overwrite")]),
            "passing": scene.raw("ephemeralchannel"),
            "queue": [scene.raw("topicchannel")],
            "hidden": scene.raw("untrackedchannel"),
        }

    builder = agent_graph(scene, run_tool(scene), state=PrivateState, second="fill", fill=fill)
    builder.add_edge("fill", "assistant")
    return builder.compile(checkpointer=saver)


def misused_channels(scene: Scene, saver: Any) -> Any:
    """Put objects into channels that the policy names for plain data."""

    def fill(_: Any) -> dict[str, Any]:
        scene.kept_if_over.clear()
        return {
            "topic": Person(name=scene.raw("objectinallowed")),
            "locale": {"person": Visit(reason=scene.raw("objectinkept"))},
        }

    builder = agent_graph(scene, run_tool(scene), second="fill", fill=fill)
    builder.add_edge("fill", "assistant")
    return builder.compile(checkpointer=saver)


def state_as_input(scene: Scene) -> dict[str, Any]:
    """Return a user's message together with values for other channels, as a caller may send them."""
    return {
        **user_message(scene),
        "text": scene.raw("inputstring"),
        "integer": scene.whole_number(),
        "person": Person(name=scene.raw("inputobject")),
        "topic": scene.email("inputtopic"),
    }


SCENARIOS = {
    "private channels": Scenario(build=private_channels, message=state_as_input),
    "misused channels": Scenario(build=misused_channels),
}
