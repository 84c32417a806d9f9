"""Check what a model proposes, item by item: good ones are kept, and of the others it is counted why not."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from discreet.errors import ProviderError
from discreet.nodes.tools.memory_check import copied_from
from discreet.ports import TextRedactor
from discreet.prompts.extraction import extraction_prompt_id
from discreet.providers.offline.reading import read
from discreet.redaction.placeholders import SECRET, written
from discreet.retrieval.dates import named_dates
from discreet.retrieval.relative_dates import dated
from discreet.retrieval.telling import teller
from discreet.retrieval.tokens import tokens
from discreet.state.reasoning import without_reasoning
from discreet.state.records import MemoryRecord, MemoryType, Provenance, Text, TurnRecord

MAX_ITEMS = 60
"""Of one answer: a prompt has at most 40 turns. What follows is a model that repeats itself."""
MAX_ITEM_CHARS = 600
"""One fact is a sentence; longer ones are retold conversations."""
LEAST_CONFIDENCE = 0.5
"""In doubt it is left out."""
STATED_SHARE = 0.5
"""So many of an item's words, of those that say something, must be the user's in the turns it cites. Dates are resolved, "I" becomes
"the user", forms of words change: the rest may be the model's."""

SMALL, YEAR_DIGITS = 12, 4
"""Numbers up to it are written as words too."""

Reason = Literal[
    "malformed",
    "too_many",
    "too_long",
    "no_source",
    "known",
    "unsure",
    "question",
    "secret",
    "placeholder",
    "assistant_text",
    "not_stated",
    "forgotten",
]
"""Why an item is refused."""

_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]{1,40}(?::[A-Z0-9]+)?>")
_NAMED = re.compile(
    rf"(?:\b(?:named?|called|name is|name's)\b|(?<!\w)(?:tên(?: là)?|gọi là)(?!\w)|\b(?:зовут|имя|по имени)\b|叫做?|名字是?|名为)"
    rf"\W{{0,3}}{_PLACEHOLDER.pattern}",
    re.IGNORECASE,
)


@cache
def _of_frames() -> frozenset[str]:
    """Return the words that an item may say of its own: whom it is about."""
    return frozenset(chain.from_iterable(map(tokens, ("the user's", "người dùng", "пользователь", "用户"))))


class _Item(BaseModel):
    """What the schema asks for, checked where models do not."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    text: Annotated[Text, Field(min_length=2)]
    importance: Annotated[int, Field(ge=1, le=10)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    sources: list[str]


class _Fact(_Item):
    type: Literal["user_fact", "preference", "event", "conversation_insight"]
    action: Literal["add", "update", "nothing"]


class _Moment(_Item):
    kind: Literal["symptom_change", "emergency", "milestone"]


_FACT, _MOMENT = TypeAdapter(_Fact), TypeAdapter(_Moment)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What is left of an answer."""

    records: list[MemoryRecord]
    refused: Mapping[str, int]
    """How many items were refused, by `Reason`."""


def answer_object(text: str | None) -> dict[str, Any]:
    """Return the JSON object that a model answered, also from a fence or behind its reasoning.

    Raises:
        ProviderError: There is none.
    """
    said = without_reasoning(text or "").strip()
    for part in (said, *(match[1] for match in _FENCED.finditer(said)), said[said.find("{") : said.rfind("}") + 1]):
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise ProviderError("The model answered with no JSON object.")


def check_answer(
    answer: Mapping[str, Any],
    turns: Mapping[str, TurnRecord],
    *,
    forgotten: Iterable[str],
    redactor: TextRedactor,
    model: str | None,
    model_version: str | None,
) -> Checked:
    """Return the memories of an answer to the extraction prompt; `turns` by the ids that it called them by.

    `forgotten` are texts that the user asked to forget, see `asked_to_forget`.

    Raises:
        ProviderError: It is no answer to that prompt: there is neither `items` nor `moments`.
    """
    if not isinstance(answer.get("items"), list) and not isinstance(answer.get("moments"), list):
        raise ProviderError("The model's answer has neither items nor moments.")
    tells_forgotten = teller(forgotten)
    refused: Counter[str] = Counter()
    records: list[MemoryRecord] = []
    origin = Provenance(model=model, model_version=model_version, prompt=extraction_prompt_id(), source="extraction")
    for number, (given, adapter) in enumerate(_given(answer)):
        if number >= MAX_ITEMS:
            refused["too_many"] += 1
            continue
        try:
            item = adapter.validate_python(given)
        except ValidationError:
            refused["malformed"] += 1
            continue
        sources = [turns[name] for name in dict.fromkeys(item.sources) if name in turns]
        sources.sort(key=lambda turn: turn.started_at)
        if (reason := _refusal(item, sources, tells_forgotten, redactor)) is not None:
            refused[reason] += 1
            continue
        records.append(_record(item, sources, origin, redactor))
    moments = {record.text.casefold() for record in records if record.type == "important_moment"}
    told_once = [r for r in records if r.type == "important_moment" or r.text.casefold() not in moments]
    return Checked(records=told_once, refused=refused)


def asked_to_forget(turns: Iterable[TurnRecord]) -> list[str]:
    """Return what the user asked to forget in these turns, in their own words."""
    return [text for turn in turns if (text := read(turn.input_text).forget)]


def _given(answer: Mapping[str, Any]) -> Iterator[tuple[Any, TypeAdapter[Any]]]:
    for name, adapter in (("items", _FACT), ("moments", _MOMENT)):
        listed = answer.get(name)
        for each in listed if isinstance(listed, list) else ():
            yield each, adapter


def _refusal(
    item: _Item, sources: Sequence[TurnRecord], tells_forgotten: Callable[[str], bool], redactor: TextRedactor
) -> Reason | None:
    """Return why an item must not be kept; None if it may be."""
    text = redactor.redact(item.text.strip())
    said = [turn.input_text for turn in sources]
    checks: tuple[tuple[Reason, Callable[[], bool]], ...] = (
        ("too_long", lambda: len(text) > MAX_ITEM_CHARS),
        ("no_source", lambda: not sources),
        ("known", lambda: isinstance(item, _Fact) and item.action == "nothing"),
        ("unsure", lambda: item.confidence < LEAST_CONFIDENCE),
        ("question", lambda: text.endswith(("?", "\uff1f"))),
        ("secret", lambda: written(SECRET) in text),
        ("placeholder", lambda: bool(_NAMED.search(text)) or not _content(text) or _invents_a_value(text, said)),
        ("assistant_text", lambda: copied_from(text, [turn.output_text for turn in sources], said=said)),
        ("not_stated", lambda: not _is_stated(text, said)),
        ("forgotten", lambda: tells_forgotten(text)),
    )
    return next((reason for reason, fails in checks if fails()), None)


def _is_stated(text: str, said: Sequence[str]) -> bool:
    """Whether enough of the words of `text` are the user's own."""
    content, spoken = _content(text), frozenset(chain.from_iterable(map(tokens, said)))
    figures = {word for word in content if any(map(str.isdigit, word))}
    if not all(map(_may_be_resolved(text), figures - spoken)):
        return False
    words = content - figures
    return len(words & spoken) >= STATED_SHARE * len(words)


def _may_be_resolved(text: str) -> Callable[[str], bool]:
    """Return whether a figure that nobody said may stand in `text`: as part of a date, or for a word such as "two"."""
    named = named_dates(text)
    dates = named.days | named.months | named.years
    return lambda figure: (
        figure.isdecimal() and len(figure) <= YEAR_DIGITS and (int(figure) <= SMALL or int(figure) in dates)
    )


def _invents_a_value(text: str, said: Sequence[str]) -> bool:
    """Whether `text` has a placeholder of a kind that the turns have none of."""
    return not set(_PLACEHOLDER.findall(text)) <= set(_PLACEHOLDER.findall(" ".join(said)))


def _content(text: str) -> frozenset[str]:
    """Return the words of `text` that say something, by their stems."""
    return frozenset(token for token in tokens(_PLACEHOLDER.sub(" ", text)) if " " not in token) - _of_frames()


def _record(item: _Item, sources: Sequence[TurnRecord], origin: Provenance, redactor: TextRedactor) -> MemoryRecord:
    last = sources[-1]
    kind: MemoryType = item.type if isinstance(item, _Fact) else "important_moment"
    return MemoryRecord(
        text=redactor.redact(dated(item.text.strip(), last.started_at)),
        type=kind,
        importance=item.importance,
        confidence=item.confidence,
        tags=[item.kind] if isinstance(item, _Moment) else [],
        created_at=last.started_at,
        thread_id=last.thread_id,
        request_id=last.request_id,
        agent_id=last.agent_id,
        app_name=last.app_name,
        provenance=origin.model_copy(update={"turns": [turn.request_id for turn in sources][:50]}),
    )
