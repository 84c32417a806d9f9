"""Know a message that is delivered again before a run is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import HumanMessage, RemoveMessage

from discreet.api.ingress.inputs import FIELD, ChecksOf, GraphCheck
from discreet.api.ingress.routes import Kind
from discreet.errors import InputError
from discreet.graph.deliveries import AGAIN, Deliveries, Delivery, delivery_of
from discreet.nodes.input_check import messages_of
from discreet.nodes.run import Run
from discreet.settings import load_settings
from discreet.state.context import Context
from discreet.state.request_ref import REQUEST_DELIVERY

ELSEWHERE: Final = ("command", "checkpoint", "checkpoint_id", "after_seconds")
"""Parts of a run that make it another turn, whatever the message: an answer to a question, a fork, a later time."""

STRATEGIES: Final = (None, "reject", "enqueue", "interrupt", "rollback")
"""What a run may ask for while another one of its thread is not over; anything else is left for the server to refuse."""


def delivery_in(
    body: Any, clean: Any, kind: Kind, checks: ChecksOf, *, thread: str | None, window: float
) -> Delivery | None:
    """Return what the message of a run is known by; None where there is none, or nobody says it.

    `body` is what was sent, `clean` what will be stored, which names the user. It hashes payloads: call it in a thread.
    """
    if kind is Kind.COMMAND and isinstance(body, dict) and body.get("method") == "run.start":
        body, clean = body.get("params"), clean["params"]
    elif kind is not Kind.RUN:
        return None
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


async def mark(deliveries: Deliveries, clean: Any, delivery: Delivery | None) -> None:
    """Name the delivery in the run that is made of it. One that is not the first waits for the first one's."""
    name = None if delivery is None else await deliveries.name(delivery)
    run = clean.get("params", clean) if name else {}
    configurable = _configurable(run)
    if name is None or configurable is None:
        return
    configurable[REQUEST_DELIVERY] = name
    if name.startswith(AGAIN) and run.get("multitask_strategy") in STRATEGIES:
        run["multitask_strategy"] = "enqueue"  # the client's own may stop the run that answers


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
