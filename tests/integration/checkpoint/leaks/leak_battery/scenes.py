"""A scene: one scenario's graph in one story, on a thread of its own, with its own words."""

from __future__ import annotations

import string
import threading
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from kit.planter import NUMBERS, WORDS, Planter
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, interrupt

from leak_battery.stories import HELD, STORIES, Face, Step, Story

FAMILIES = (WORDS, NUMBERS)
"""What scenes plant."""


class PlantedError(Exception):
    """Carries something in its message, in an attribute and in a note."""

    def __init__(self, message: str, detail: str, note: str) -> None:
        super().__init__(message)
        self.detail = detail
        self.add_note(note)


@dataclass
class Scene:
    """What a scenario's nodes plant words through, and what plays the scenario's graph."""

    plants: Planter
    scenario_name: str
    story_name: str
    number: int
    """Unique among the scenes of one search."""
    story: Story
    face: Face
    durability: str
    conversation: bool = True
    """Whether the user's text and the answers must be in the rows."""
    served: bool = False
    """Whether runs have the ids that a server gives."""
    name: str = ""
    """Also the thread's id: what happens in it is no secret."""
    turn: int = 0
    """Turns begun with a message."""
    ran: int = 0
    """How often the heart of the graph ran."""
    reached: threading.Event = field(default_factory=threading.Event)
    """Set when a turn that waits in the heart of the graph has come there."""
    released: threading.Event = field(default_factory=threading.Event)
    """Set when it may go on."""
    step: Step = STORIES["over"][0]
    errors: list[Exception] = field(default_factory=list)
    """What a turn ended with when the database was away."""
    kept: set[str] = field(default_factory=set)
    """Words that must be in the rows."""
    kept_if_over: set[str] = field(default_factory=set)
    """Words that must be there once a turn was over."""
    retried_turns: set[int] = field(default_factory=set)
    """Turns that fail and then come to their end."""
    closed_by_hand: bool = False
    """Whether a turn that failed is brought to its end from outside."""
    kept_if_shown: set[str] = field(default_factory=set)
    """Words of the model that must be there once the user has read them."""

    def __post_init__(self) -> None:
        self.name = f"{self.scenario_name}: {self.story_name}, {self.durability}"
        if self.story[-1] == ("nothing", "over"):
            self.retried_turns.add(1)
        first, rest = divmod(self.number, 26)
        self._code = "".join(string.ascii_lowercase[index] for index in (*divmod(first, 26), rest))

    def raw(self, place: str) -> str:
        """Return a word that no redactor knows: only structure can keep it out."""
        return self.plants.raw(place, self.name, self._code)

    def email(self, place: str) -> str:
        """Return an address, which the redactor knows."""
        return self.plants.email(place, self.name, self._code)

    def keep(self, place: str) -> str:
        """Return a word that must survive."""
        return self.plants.keep(place, self._code)

    def whole_number(self) -> int:
        return self.plants.whole_number(self.number)

    def real_number(self) -> float:
        return self.plants.real_number(self.number)

    def text(self, place: str) -> str:
        """Return a text to keep, with an address in it to redact."""
        return f"{self.keep(place + string.ascii_lowercase[self.turn])} writes from {self.email(place)} today"

    def said(self) -> str:
        """Return what the user says in this turn."""
        return self.text("usertext")

    def aside(self, place: str, *, answer: bool = False) -> str:
        """Return what the model says before its work is done: to keep if the user will have read it, else a secret.

        Beside a call of a tool that is so where the turn pauses. An `answer` is read wherever the turn comes to its end.
        """
        retried = self.step.ending == "raised" and self.turn in self.retried_turns
        if self.step.ending == "paused" or (answer and (retried or self.step.ending in {"over", "unavailable"})):
            self.kept_if_shown.add(self.keep(place + string.ascii_lowercase[self.turn]))
            return self.text(place)
        return self.text(place) if self.closed_by_hand else f"{self.raw(place)} {self.email(place)}"

    def message_id(self, place: str) -> str:
        """Return an id that must not stay as it is: only safe characters do."""
        return f"{self.raw(place)} {self.turn}"

    def expect(self, place: str) -> None:
        """Note that what was said at `place` in this turn must be in the rows."""
        if self.conversation:
            self.kept.add(self.keep(place + string.ascii_lowercase[self.turn]))

    @property
    def config(self) -> RunnableConfig:
        """Where the thread is, with a word wherever a caller can put one."""
        return {
            "configurable": {
                "thread_id": self.name,
                "api_key": self.raw("configurable"),
                "owner": {"mail": self.email("configurableobject")},
            },
            "metadata": {
                "tenant": self.raw("metadata"),
                "mail": self.email("metadata"),
                "nested": {self.raw("metadatakey"): [self.raw("metadatalist")]},
                "run_id": self.run_id,
                "parents": {self.raw("callersparent"): self.raw("callersparentid")},
            },
            "tags": [self.raw("tag")],
            "run_name": self.raw("runname"),
        }

    @property
    def run_id(self) -> str:
        """Name the run: as a server does, or as a careless caller. LangGraph takes one as before for a retry."""
        if self.served:
            return str(uuid5(NAMESPACE_OID, f"{self.plants.seed} {self.name} {self.turn}"))
        return f"{self.raw('callersrunid')}{self.turn}"

    def heart(self) -> str:
        """Do what a tool does: answer, raise, ask, or take long."""
        self.ran += 1
        answer = ""
        if self.step.ending == "paused" or self.step.given == "answer":
            question = {"question": self.raw("interruptpayload"), "mail": self.email("interruptpayload")}
            answer = str(interrupt(question))
        if self.step.ending == "raised":
            raise PlantedError(self.raw("exceptionmessage"), self.raw("exceptionattribute"), self.raw("exceptionnote"))
        if self.step.ending in HELD:
            self.reached.set()
            self.released.wait()
        return f"{self.raw('toolresult')} {self.email('toolresult')} {answer}"


def user_message(scene: Scene) -> dict[str, Any]:
    """Return a user's message with something in each of its fields."""
    return {
        "messages": [
            HumanMessage(
                scene.said(),
                id=scene.message_id("messageid"),
                name=scene.raw("messagename"),
                additional_kwargs={"note": scene.raw("messagekwargs")},
                response_metadata={"note": scene.raw("messagemetadata")},
            )
        ]
    }


def free_text(scene: Scene) -> Any:
    """Return an answer to a question."""
    return Command(resume=f"{scene.raw('resumeanswer')} {scene.email('resumeanswer')}")


def final_answer(scene: Scene) -> AIMessage:
    """Return what a model says at last, with something in each of its fields."""
    return AIMessage(
        [
            {
                "type": "reasoning",
                "reasoning": scene.raw("reasoningblock"),
                "extras": {"signature": scene.raw("extra")},
            },
            {"type": "text", "text": scene.text("answer"), "annotations": [{"title": scene.raw("annotation")}]},
        ],
        id=scene.message_id("answerid"),
        name=scene.raw("answername"),
        additional_kwargs={"reasoning_content": scene.raw("reasoningkwargs")},
        response_metadata={"request": scene.raw("responsemetadata")},
    )
