"""What happens to a graph: which calls it gets, and how each ends."""

from __future__ import annotations

from typing import Literal, NamedTuple

Given = Literal["message", "nothing", "answer"]
Ending = Literal["over", "raised", "paused", "cancelled", "held", "refused", "unavailable"]
Face = Literal["sync", "async"]
HELD = ("cancelled", "held", "unavailable")
"""Endings of steps that wait in the heart of the graph for what will happen to them."""
FACES: tuple[Face, ...] = ("sync", "async")
DURABILITIES = ("sync", "async", "exit")


class Step(NamedTuple):
    """One call of a graph, and how it ends."""

    given: Given
    ending: Ending


Story = tuple[Step, ...]

STORIES: dict[str, Story] = {
    "over": (Step("message", "over"), Step("message", "over")),
    "raised": (Step("message", "raised"),),
    "raised, retried": (Step("message", "raised"), Step("nothing", "over")),
    "raised, new message": (Step("message", "raised"), Step("message", "over")),
    "paused": (Step("message", "over"), Step("message", "paused")),
    "paused, answered": (Step("message", "paused"), Step("answer", "over")),
    "paused, new message": (Step("message", "paused"), Step("message", "over")),
    "answered, raised": (Step("message", "paused"), Step("answer", "raised")),
    "cancelled": (Step("message", "cancelled"),),
    "cancelled, new message": (Step("message", "cancelled"), Step("message", "over")),
}
