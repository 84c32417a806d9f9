"""Redact the body of a request. Of one that creates a run, what it really says goes to the turn vault."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langgraph.store.base import InvalidNamespaceError

from discreet.api.ingress.body_schemas import check_shape
from discreet.api.ingress.dedup import Begins, delivery_in, message_in
from discreet.api.ingress.inputs import FIELD, ChecksOf, check_input
from discreet.api.ingress.routes import Kind
from discreet.api.receiving import loads
from discreet.errors import InvalidRequestError
from discreet.graph.deliveries import Delivery
from discreet.ports import TextRedactor, of_thread
from discreet.redaction.value_capture import CollectingRedactor
from discreet.redaction.walker import redact_object
from discreet.rights.namespaces import ROOT
from discreet.state.request_ref import REQUEST_DELIVERY, REQUEST_MESSAGE, REQUEST_PARTS, REQUEST_REF, part_key
from discreet.storage.store.namespaces import path_of

UserOf = Callable[[Any], str]
"""From the user_id that was said to the one that is meant."""

NAMES_OF_ITEMS = ("namespace", "namespace_prefix", "prefix", "suffix", "key")
"""What names items of the store. Two placeholders would be one item, so such names are refused."""

OUTBOUND = ("feedback_keys", "langsmith_tracer")
"""Parts of a run that make the server call LangSmith, or send it traces, also where tracing is off."""

SERVER_KEYS = (REQUEST_REF, REQUEST_DELIVERY, REQUEST_MESSAGE)
"""Names that the server alone gives."""

MAX_VALUES = 50_000
"""Texts, numbers, lists and objects of one body, names of fields included. Each takes the redactor about 0.2 ms, however
short: 30 MB of single letters would take it half an hour. 5,000 messages have as many."""

SENSITIVE_NAME = "holds a sensitive value; name items by ids of your own"

NO_LABELS = "must be texts that are not empty, nor hold a period or a control character, of 2,000 bytes together"


@dataclass
class Cleaned:
    """A body that may be stored, and what was taken from it."""

    body: Any
    parts: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)
    """By the name of each run's request: what it really said, as JSON."""
    values: dict[str, str] = field(default_factory=dict, repr=False)
    """By tagged placeholder."""
    delivery: Delivery | None = None
    """What its message is known by, if it is delivered again."""
    begins: Begins | None = None
    """Its message, if whoever sent it gave it an id."""

    def as_json(self) -> bytes:
        """Return the body as JSON."""
        return b"" if self.body is None else json.dumps(self.body).encode()


def rewritten(
    raw: bytes | str,
    kind: Kind,
    *,
    thread: str | None,
    redactor: TextRedactor,
    user: UserOf | None,
    checks: ChecksOf,
    shape: str | None = None,
    dedup_seconds: float = 0,
) -> Cleaned:
    """Return what `cleaned` makes of a JSON text. All of it is work for a thread.

    `shape` names the server's schema of it, see `discreet.api.ingress.body_schemas`. Within `dedup_seconds` the message of a run is
    taken for one that was delivered again; 0: never.

    Raises:
        MalformedRequestError: It is no JSON.
        InputError: A graph would refuse its input.
        InvalidRequestError: As `cleaned`, or it has another shape.
        ForbiddenError: As `cleaned`.
    """
    body = loads(raw)
    check_values(body)
    check_input(body, kind, checks, in_thread=thread is not None)
    clean = cleaned(body, kind, thread=thread, redactor=redactor, user=user)
    check_shape(clean.body, shape)
    clean.delivery = delivery_in(body, clean.body, kind, checks, thread=thread, window=dedup_seconds)
    clean.begins = message_in(body, clean.body, kind, checks, thread=thread)
    return clean


def check_values(body: Any) -> None:
    """Refuse a body of too many values.

    Raises:
        InvalidRequestError: It has more than `MAX_VALUES`.
    """
    left, waiting = MAX_VALUES, [body]
    while waiting:
        value = waiting.pop()
        inner = value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else ()
        left -= len(inner)
        if left < 0:
            raise InvalidRequestError([("body", f"must have at most {MAX_VALUES:,} values")])
        waiting += inner


def cleaned(body: Any, kind: Kind, *, thread: str | None, redactor: TextRedactor, user: UserOf | None) -> Cleaned:
    """Return `body` as it may be stored. It may be large: call this in a thread.

    `thread` is the one that the path names. `user` returns whose memories are meant, from the user_id that a body says or
    None. None: the server's own code asks, or the Studio, whom the server checks: that is not decided here then.

    Raises:
        InvalidRequestError: It names items of the store by what has to be redacted, or what can't be a name.
        ForbiddenError: It names somebody else as the user.
    """
    body = _without_refs(body)
    if kind is Kind.STORE:
        return Cleaned(_store_body(body, redactor, user))
    if kind is Kind.RUNS and isinstance(body, list):
        runs = [_run(item, redactor, str(uuid4()), user) for item in body]
        return Cleaned([run.body for run in runs], {ref: part for run in runs for ref, part in run.parts.items()})
    if kind is Kind.RUN and isinstance(body, dict):
        return _run(body, redactor, thread or str(uuid4()), user)
    if kind is Kind.COMMAND and isinstance(body, dict) and isinstance(body.get("params"), dict):
        return _command(body, redactor, thread or str(uuid4()), user)
    if kind in {Kind.CRON, Kind.CRON_CHANGE} and isinstance(body, dict):
        body = {part: said for part, said in body.items() if part not in OUTBOUND}
    clean = redact_object(body, of_thread(redactor, thread))
    if kind in {Kind.CRON, Kind.CRON_CHANGE, Kind.ASSISTANT} and isinstance(clean, dict):
        _set_user(clean, body, user, always=kind is not Kind.ASSISTANT and "assistant_id" in clean)
    return Cleaned(clean)


def _run(body: Any, redactor: TextRedactor, thread: str, user: UserOf | None) -> Cleaned:
    """Return a body that creates a run, with its name in `configurable`."""
    if not isinstance(body, dict):
        return Cleaned(redact_object(body, redactor))
    body = {**body, FIELD: _with_ids(body.get(FIELD))} if FIELD in body else body
    collecting = CollectingRedactor(of_thread(redactor, thread))
    clean = redact_object({part: said for part, said in body.items() if part not in OUTBOUND}, collecting)
    said = {part: body.get(part) for part in REQUEST_PARTS}
    said["context"] = {k: v for k, v in _context(body).items() if k != "user_id"}  # which is never the request's to say
    changed = {part: raw for part, raw in said.items() if raw and raw != _cleaned_part(clean, part)}
    _set_user(clean, body, user, always=True)
    return _named(clean, {part_key(part): json.dumps(raw) for part, raw in changed.items()}, collecting.values)


def _with_ids(given: Any) -> Any:
    """Return a run's input whose messages have ids: one that is begun anew would else add its message a second time."""
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list):
        return given
    return {**given, "messages": [{**each, "id": str(uuid4())} if _lacks_id(each) else each for each in messages]}


def _lacks_id(given: Any) -> bool:
    is_message = isinstance(given, dict) and "content" in given and ("role" in given or "type" in given)
    return is_message and not given.get("id")


def _named(clean: dict[str, Any], parts: dict[str, str], values: dict[str, str]) -> Cleaned:
    """Return a run under a name that nobody can guess."""
    ref = uuid4().hex
    configurable = _folded(clean)
    if configurable is not None:
        configurable[REQUEST_REF] = ref
    return Cleaned(clean, {ref: parts}, values)


def _command(body: dict[str, Any], redactor: TextRedactor, thread: str, user: UserOf | None) -> Cleaned:
    """Return a command of the event protocol; `run.start` and `input.respond` create runs."""
    if body.get("method") not in {"run.start", "input.respond"}:
        return Cleaned(redact_object(body, of_thread(redactor, thread)))
    params = body["params"]
    if body["method"] == "run.start":
        run = _run(params, redactor, thread, user)
    else:
        # The server makes of the answers to interrupts one value to resume with, by interrupt.
        run = _run({**params, "input": _answers(params)}, redactor, thread, user)
        run.body.pop("input", None)
    rest = redact_object({key: value for key, value in body.items() if key != "params"}, redactor)
    return Cleaned({**rest, "params": run.body}, run.parts, run.values)


def _answers(params: Mapping[str, Any]) -> dict[str, Any]:
    given = params.get("responses")
    entries = given if isinstance(given, list) else [params]
    return {
        entry["interrupt_id"]: entry.get("response")
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("interrupt_id"), str)
    }


def _configurable(body: Mapping[str, Any]) -> dict[str, Any]:
    config = body.get("config")
    configurable = config.get("configurable") if isinstance(config, dict) else None
    return configurable if isinstance(configurable, dict) else {}


def _context(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a body says of its run's context, which older clients put into `configurable`."""
    context = body.get("context")
    return context if isinstance(context, dict) and context else _configurable(body)


def _cleaned_part(clean: Mapping[str, Any], part: str) -> Any:
    if part == "context":
        return {key: value for key, value in _context(clean).items() if key != "user_id"}
    return clean.get(part)


def _folded(clean: dict[str, Any]) -> dict[str, Any] | None:
    """Return the `configurable` that a run gets, `context` included; None if it gives both, which the server refuses.

    The server takes one of the two, and copies it into the other. Of a context it keeps what the graph's schema has.
    """
    context = clean.get("context")
    configurable = _configurable(clean)
    if context and configurable:
        return None
    config = clean.get("config")
    merged = {**configurable, **(context if isinstance(context, dict) else {})}
    clean["config"] = {**(config if isinstance(config, dict) else {}), "configurable": merged}
    clean.pop("context", None)
    return merged


def _set_user(clean: dict[str, Any], body: Mapping[str, Any], user: UserOf | None, *, always: bool) -> None:
    """Name the user of a run: whoever calls.

    Raises:
        ForbiddenError: Somebody else was named.
    """
    if user is None:
        return
    for written, said in ((clean.get("context"), body.get("context")), (_configurable(clean), _configurable(body))):
        if isinstance(written, dict) and isinstance(said, dict) and "user_id" in said:
            written["user_id"] = user(said["user_id"])
            always = False
    if always and (configurable := _folded(clean)) is not None:
        configurable["user_id"] = user(None)


def _store_body(body: Any, redactor: TextRedactor, user: UserOf | None) -> Any:
    """Return a body redacted. What names items is read by itself: "key" is where an item stands, no secret."""
    if not isinstance(body, dict):
        return redact_object(body, redactor)
    items = {name: body[name] for name in NAMES_OF_ITEMS if name in body}
    wrong = [(name, SENSITIVE_NAME) for name, said in items.items() if redact_object(said, redactor) != said]
    root = () if user is None else (ROOT, user(None))
    wrong += [
        (name, NO_LABELS) for name, said in items.items() if isinstance(said, list) and not _are_labels(said, root)
    ]
    if wrong:
        raise InvalidRequestError(wrong)
    return {**redact_object({part: said for part, said in body.items() if part not in items}, redactor), **items}


def _are_labels(said: list[Any], root: tuple[str, ...]) -> bool:
    """Whether the store takes `said` below the caller's `root`; what it read back begins with that."""
    try:
        path_of([*(() if tuple(said[: len(root)]) == root else root), *said])
    except InvalidNamespaceError:
        return False
    return True


def _without_refs(value: Any, depth: int = 0) -> Any:
    """Return `value` without names of requests and deliveries."""
    if depth > 100:  # the redactor stops long before
        return None
    if isinstance(value, dict):
        return {key: _without_refs(item, depth + 1) for key, item in value.items() if key not in SERVER_KEYS}
    if isinstance(value, list):
        return [_without_refs(item, depth + 1) for item in value]
    return value
