"""Background memory as a graph, for crons and for whoever asks to have their conversations worked on now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from discreet.errors import ForbiddenError, InvalidContextError
from discreet.nodes.run import describe_run
from discreet.redaction.configured import default_redactor
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.worker.beside import Stores, make_worker
from discreet.worker.one_shot import extract_now
from discreet.worker.providers import BatchProviders

EVERYBODY = "memory:administer"
"""Permission of a caller of the server who may have everybody's conversations worked on."""

_AUTH_USER, _PERMISSIONS = "langgraph_auth_user", "langgraph_auth_permissions"
"""Keys of `configurable` in which LangGraph's server says who calls and what they may. No client can write them."""


class ExtractionInput(TypedDict):
    """What a caller sends; nothing has to be."""

    all_users: NotRequired[bool]
    """Do what a worker does in one pass, for everybody whose sessions are due. On a server that takes an administrator.
    Else the caller's own turns are worked on, whether they are due or not."""
    after: NotRequired[str | None]
    """One's own turns from then on, ISO 8601 with a time zone; default: all that were not worked on."""


class ExtractionOutput(TypedDict):
    """What was done: numbers by name."""

    done: NotRequired[dict[str, int]]


class ExtractionState(ExtractionInput, ExtractionOutput):
    """What the node reads and writes."""


def build_extraction_graph(storage: Stores, *, settings: Settings | None = None) -> StateGraph[Any, Context, Any, Any]:
    """Return the builder of a graph of one node, which works on `storage`.

    Example:
        >>> async def own_turns(storage: Any, user_id: str) -> dict[str, int]:
        ...     graph = build_extraction_graph(storage).compile()
        ...     return (await graph.ainvoke({}, context=Context(user_id=user_id)))["done"]
    """

    async def extract(state: ExtractionState, config: RunnableConfig) -> ExtractionOutput:
        used = settings or load_settings()
        if state.get("all_users"):
            _check_permission(config.get("configurable") or {})
            async with make_worker(storage, used) as worker:
                return {"done": vars(await worker.once())}
        return {"done": await _own(storage, used, _moment(state.get("after")))}

    graph = StateGraph(
        ExtractionState, context_schema=Context, input_schema=ExtractionInput, output_schema=ExtractionOutput
    )
    graph.add_node("extract", extract)
    graph.add_edge(START, "extract")
    graph.add_edge("extract", END)
    return graph


async def _own(storage: Stores, settings: Settings, after: datetime | None) -> dict[str, int]:
    """Work on the turns of the run's user."""
    user_id = describe_run(default_user=settings.default_user).user_id
    if user_id is None:
        raise InvalidContextError([("user_id", "say whose conversations are meant, or set all_users in the input")])
    providers = BatchProviders(settings)
    try:
        found = await extract_now(
            storage.background,
            user_id,
            providers=providers,
            live=storage.memory_settings.live,
            redactor=default_redactor(),
            after=after,
        )
    finally:
        await providers.aclose()
    return {"prompts": found.prompts, "turns": found.turns, "waiting": found.failed, **found.numbers}


def _check_permission(configurable: Mapping[str, Any]) -> None:
    if configurable.get(_AUTH_USER) is not None and EVERYBODY not in (configurable.get(_PERMISSIONS) or ()):
        raise ForbiddenError("Only administrators may have everybody's conversations worked on.")


def _moment(written: str | None) -> datetime | None:
    if written is None:
        return None
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise InvalidContextError([("after", "write a time with its zone, such as 2026-11-01T00:00:00Z")])
    return at
