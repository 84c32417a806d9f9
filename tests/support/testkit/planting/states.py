"""Classes of applications, whose objects stand in channels: they are found again by their names when a state is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypedDict

from pydantic import BaseModel, Field, SecretStr


@dataclass
class Profile:
    """A customer, as a dataclass."""

    name: str
    email: str
    visits: int = 0
    tags: list[str] = field(default_factory=list)


class Booking(BaseModel):
    """A booking, as a pydantic model."""

    reference: str
    contact: str
    notes: list[str] = Field(default_factory=list)
    extra: dict[str, Any] = Field(default_factory=dict)


class Step(TypedDict):
    """A step of a plan."""

    title: str
    done: bool


class Plan(TypedDict):
    """A plan, as a dictionary."""

    goal: str
    steps: list[Step]


class Place(NamedTuple):
    """A place, as a named tuple."""

    label: str
    address: str


class Mood(Enum):
    """How the customer is."""

    CALM = "calm"
    ANGRY = "angry"


class CustomerFile:
    """A class that only pickle can write."""

    def __init__(self, owner: str, pages: list[str]) -> None:
        self.owner = owner
        self.pages = pages

    def count(self) -> int:
        """Return the number of pages."""
        return len(self.pages)


__all__ = ["Booking", "CustomerFile", "Mood", "Place", "Plan", "Profile", "SecretStr", "Step"]
