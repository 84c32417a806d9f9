"""Play a scene: call its graph as its story says, and check how each call ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg_pool import PoolTimeout

from discreet.errors import StorageError, TransientStateLostError
from leak_battery.scenes import PlantedError, Scene, free_text, user_message
from leak_battery.stories import STORIES, Ending, Step


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A graph, and how it is talked to."""

    build: Callable[[Scene, Any], Any]
    """Makes the graph over a saver."""
    message: Callable[[Scene], Any] = user_message
    answer: Callable[[Scene], Any] = free_text
    afterwards: Callable[[Scene, Any], Awaitable[None]] | None = None
    """What else is done when the story is over."""
    conversation: bool = True
    """Whether the user's text and the answers must be in the rows."""
    stories: tuple[str, ...] = tuple(STORIES)
    has_heart: bool = True
    """Whether its graph does what the story says by `Scene.heart`."""
    restarts: bool = True
    """Whether a first turn that was lost with its process can be run again from what is stored of its input."""


async def play(scene: Scene, scenario: Scenario, saver: Any) -> None:
    """Play the scene's story over `saver`, checking that each step ends as told."""
    graph = scenario.build(scene, saver)
    for step in scene.story:
        await take(scene, scenario, graph, step)
    if scenario.afterwards is not None and scene.story_name in STORIES:
        await scenario.afterwards(scene, graph)


async def take(scene: Scene, scenario: Scenario, graph: Any, step: Step) -> None:
    """Call the graph once, and check how it ended."""
    scene.step = step
    given = None
    if step.given == "message":
        scene.turn += 1
        given = scenario.message(scene)
        scene.expect("usertext")
    elif step.given == "answer":
        given = scenario.answer(scene)
    ended = await _ending(scene, graph, given)
    if ended != step.ending:
        raise AssertionError(f"{scene.name}: a step that should have been {step.ending} was {ended}")
    if ended == "over":
        scene.expect("answer")
        scene.kept |= scene.kept_if_over
    if ended in {"over", "paused"} and scene.conversation:
        scene.kept |= scene.kept_if_shown


async def _ending(scene: Scene, graph: Any, given: Any) -> Ending:
    try:
        result = await call(scene, graph, given)
    except PlantedError:
        return "raised"
    except asyncio.CancelledError:
        return "cancelled"
    except TransientStateLostError:
        return "refused"
    except (StorageError, psycopg.OperationalError, PoolTimeout) as error:
        scene.errors.append(error)
        return "unavailable"
    return "paused" if "__interrupt__" in result else "over"


async def call(scene: Scene, graph: Any, given: Any) -> dict[str, Any]:
    """Call the graph once, and return the state it ends in."""
    options = {"durability": scene.durability, "context": {"secret": scene.raw("context")}}
    if scene.face == "sync":
        result = graph.invoke(given, scene.config, **options)
    else:
        running = asyncio.ensure_future(graph.ainvoke(given, scene.config, **options))
        if scene.step.ending == "cancelled":
            reached = asyncio.ensure_future(asyncio.to_thread(scene.reached.wait))
            await asyncio.wait((running, reached), return_when=asyncio.FIRST_COMPLETED)
            running.cancel()
            scene.reached.set()
            scene.released.set()
            await reached
        result = await running
    return result if isinstance(result, dict) else {"result": result}


def at_once(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run what never waits, as a scene with a sync face does."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise AssertionError("a sync scene waited")
