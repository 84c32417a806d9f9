"""Know a message that is delivered again before a run is made of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage

from discreet.api.ingress.inputs import FIELD, ChecksOf, GraphCheck
from discreet.api.ingress.routes import Kind
from discreet.errors import InputError, MessageIdReusedError
from discreet.graph.deliveries import Deliveries, Delivery, delivery_of
from discreet.graph.once import known_in
from discreet.nodes.input_check import messages_of
from discreet.nodes.run import Run
from discreet.ports import TextRedactor, of_thread
from discreet.settings import load_settings
from discreet.state.context import Context
from discreet.state.request_ref import REQUEST_DELIVERY, REQUEST_MESSAGE

ELSEWHERE: Final = ("command", "checkpoint", "checkpoint_id", "after_seconds")
"""Parts of a run that make it another turn, whatever the message: an answer to a question, a fork, a later time."""

STRATEGIES: Final = (None, "reject", "enqueue", "interrupt", "rollback")
"""What a run may ask for while another one of its thread is not over; anything else is left for the server to refuse."""


StoredMessages: TypeAlias = Callable[[str, str, str], Awaitable[Sequence[BaseMessage]]]
"""Returns the messages of a user's thread as they are stored, by the user_id, the thread_id and their key in the state; none of
another user's thread."""


@dataclass(frozen=True, kw_only=True)
class Begins:
    """The message with which a run begins a turn of a thread, under an id that its sender chose."""

    message: HumanMessage = field(repr=False)
    user_id: str
    thread_id: str
    key: str


def message_in(body: Any, clean: Any, kind: Kind, checks: ChecksOf, *, thread: str | None) -> Begins | None:
    """Return what a run begins a turn of a thread with; None where there is none, or it has no id.

    `body` is what was sent, `clean` what will be stored, which names the user.
    """
    body, clean = _run_in(body, clean, kind)
    if not isinstance(body, dict) or not isinstance(assistant := body.get("assistant_id"), str):
        return None
    user, check = (_configurable(clean) or {}).get("user_id"), checks(assistant)
    if thread is None or user is None or check is None or any(body.get(part) for part in ELSEWHERE):
        return None
    message = _newest(body.get(FIELD), check)
    if message is None or not message.id:
        return None
    return Begins(message=message, user_id=user, thread_id=thread, key=_key(check))


async def refuse_reused(begins: Begins | None, stored: StoredMessages | None, redactor: TextRedactor) -> None:
    """Refuse a message under the id of another one of its thread, before a run is made of it that would fail.

    Raises:
        MessageIdReusedError: It is.
    """
    if begins is None or stored is None:
        return
    known = known_in(await stored(begins.user_id, begins.thread_id, begins.key), [begins.message])
    if known is not None and not await asyncio.to_thread(known.is_same, of_thread(redactor, begins.thread_id)):
        raise MessageIdReusedError


def delivery_in(
    body: Any, clean: Any, kind: Kind, checks: ChecksOf, *, thread: str | None, window: float
) -> Delivery | None:
    """Return what the message of a run is known by; None where there is none, or nobody says it.

    `body` is what was sent, `clean` what will be stored, which names the user. It hashes payloads: call it in a thread.
    """
    body, clean = _run_in(body, clean, kind)
    if not (window and isinstance(body, dict) and isinstance(assistant := body.get("assistant_id"), str)):
        return None
    user = (_configurable(clean) or {}).get("user_id")
    check = checks(assistant)
    if user is None or check is None or any(body.get(part) for part in ELSEWHERE):
        return None
    message = _newest(body.get(FIELD), check)
    if message is None:
        return None
    limit = check.messages.max_media_bytes if check.messages else load_settings().max_media_bytes
    rest = {name: item for name, item in body[FIELD].items() if name != _key(check)}
    about = {"assistant": assistant, "rest": rest, "context": body.get("context"), "config": _configurable(body)}
    run = Run(user_id=user, thread_id=thread, context=Context())
    return delivery_of(run, message, max_media_bytes=limit, window=window, about=about)


async def mark(deliveries: Deliveries, clean: Any, delivery: Delivery | None, *, thread: str | None) -> None:
    """Name the message of the run that is made of it by the id under which it came first; its graph knows it by that.

    One that is not the first waits for the first one's turn.
    """
    run = clean.get("params", clean) if delivery is not None else {}
    configurable = _configurable(run)
    if delivery is None or configurable is None:
        return
    own = _id_of_newest(run.get(FIELD)) or str(uuid4())
    first = await deliveries.first_name(delivery, own)
    configurable[REQUEST_MESSAGE] = first
    if thread is None:
        configurable[REQUEST_DELIVERY] = first
    if first != own and run.get("multitask_strategy") in STRATEGIES:
        run["multitask_strategy"] = "enqueue"  # the client's own may stop the run that answers


def _id_of_newest(given: Any) -> str | None:
    """Return the id of the last message of an input, if it has one that may be stored."""
    messages = given.get("messages") if isinstance(given, Mapping) else None
    newest = messages[-1] if isinstance(messages, list) and messages else None
    found = newest.get("id") if isinstance(newest, Mapping) else None
    return found if isinstance(found, str) else None


def _run_in(body: Any, clean: Any, kind: Kind) -> tuple[Any, Any]:
    """Return what of a request creates a run, as it was sent and as it will be stored; None where nothing does."""
    if kind is Kind.COMMAND and isinstance(body, dict) and body.get("method") == "run.start":
        return body.get("params"), clean["params"]
    return (body, clean) if kind is Kind.RUN else (None, None)


def _configurable(run: Mapping[str, Any]) -> dict[str, Any] | None:
    config = run.get("config")
    configurable = config.get("configurable") if isinstance(config, dict) else None
    return configurable if isinstance(configurable, dict) else None


def _newest(given: Any, check: GraphCheck) -> HumanMessage | None:
    """Return the message that a run begins with; None if it begins with none, or takes some away."""
    said = given.get(_key(check)) if isinstance(given, Mapping) else None
    try:
        messages = messages_of(said)
    except InputError:
        return None
    if not messages or any(isinstance(each, RemoveMessage) for each in messages):
        return None
    return messages[-1] if isinstance(messages[-1], HumanMessage) else None


def _key(check: GraphCheck) -> str:
    return check.messages.messages_key if check.messages else "messages"
