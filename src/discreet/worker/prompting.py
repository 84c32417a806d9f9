"""Make the prompt of a stored request as the log stands now, and read its answer against the same turns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from discreet.errors import ProviderError
from discreet.ports import BatchRequest, BatchResult, TextRedactor
from discreet.prompts.extraction import EXTRACTION_SCHEMA, SaidTurn, render_extraction
from discreet.prompts.summaries import (
    SESSION_SUMMARY_SCHEMA,
    render_session_summary,
    session_summary_prompt_id,
)
from discreet.providers.topics import topic_of
from discreet.state.background import MAX_SUMMARY_CHARS, SessionSummary, StoredRequest
from discreet.state.records import Provenance, TurnRecord
from discreet.storage.background.requests import BatchRequests, ExtractionMaterial, SummaryMaterial
from discreet.storage.background.results import Outcome
from discreet.worker.answers import answer_object, asked_to_forget, check_answer

EXTRACTION, SUMMARY = "extraction", "session_summary"
"""Names of the schemas."""

MAX_ROUND_CHARS = 2_000
"""Of what was said, and of what was answered, in one round of a session's summary."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """What becomes of a stored request: a prompt, or an outcome that needs none, or nothing, where nothing is left."""

    prompt: BatchRequest | None = None
    outcome: Outcome | None = None


async def make(request: StoredRequest, requests: BatchRequests) -> Made:
    """Return the prompt of `request`.

    Raises:
        StorageError: The log could not be read.
    """
    if request.kind == "summary":
        await requests.begin_summary(request)
        return _make_summary(request, await requests.summary_material(request))
    return _make_extraction(request, await requests.extraction_material(request))


async def outcome_of(
    request: StoredRequest,
    result: BatchResult,
    requests: BatchRequests,
    *,
    redactor: TextRedactor,
    model: str,
) -> Outcome | None:
    """Return what an answer comes to; None if nothing that it was made of is left.

    Raises:
        ProviderError: It is no answer to the prompt.
        StorageError: The log could not be read.
    """
    answer = answer_object(result.text)
    asked = Outcome(input_tokens=result.input_tokens, output_tokens=result.output_tokens)
    if request.kind == "summary":
        material = await requests.summary_material(request)
        summary = _summary_from(answer, material)
        if summary is None:
            return None
        origin = Provenance(
            model=model, model_version=result.model, prompt=session_summary_prompt_id(), source="session_summary"
        )
        return replace(asked, summary=summary, provenance=origin)
    material_ = await requests.extraction_material(request)
    checked = await asyncio.to_thread(
        check_answer,
        answer,
        _named(request, material_.turns),
        forgotten=asked_to_forget(material_.forgotten),
        redactor=redactor,
        model=model,
        model_version=result.model,
    )
    return replace(asked, records=checked.records, refused=checked.refused)


def extraction_request(request: StoredRequest, material: ExtractionMaterial) -> BatchRequest:
    """Return the prompt that extracts memories of the turns of `material`."""
    prompt = render_extraction(
        [SaidTurn(turn.started_at, turn.input_text, name) for name, turn in _named(request, material.turns).items()],
        known=[record.text for record in material.known],
        forgotten=asked_to_forget(material.forgotten),
    )
    return BatchRequest(
        custom_id=request.custom_id,
        instruction=prompt.instruction,
        data=prompt.data,
        schema=EXTRACTION_SCHEMA,
        schema_name=EXTRACTION,
    )


def _make_extraction(request: StoredRequest, material: ExtractionMaterial) -> Made:
    if not any(turn.input_text.strip() for turn in material.turns):
        return Made()
    return Made(prompt=extraction_request(request, material))


def _make_summary(request: StoredRequest, material: SummaryMaterial) -> Made:
    """Return the prompt of a session's summary; none where a compaction says all that there is, or made it due."""
    if material.compaction and (request.trigger == "compaction" or not material.remainder):
        return Made(outcome=_of_compaction(material))
    if not material.remainder:
        return Made()
    earlier = material.compaction or (material.earlier.summary if material.earlier else "")
    rounds = [(_cut(turn.input_text), _cut(turn.output_text)) for turn in material.remainder]
    prompt = render_session_summary(rounds, earlier=earlier)
    return Made(
        prompt=BatchRequest(
            custom_id=request.custom_id,
            instruction=prompt.instruction,
            data=prompt.data,
            schema=SESSION_SUMMARY_SCHEMA,
            schema_name=SUMMARY,
            max_tokens=1_500,
        )
    )


def _of_compaction(material: SummaryMaterial) -> Outcome:
    """Return the summary that the rolling one is: no model is asked."""
    started, ended = _span(material)
    topic = topic_of(material.compaction)
    summary = SessionSummary(
        summary=material.compaction[:MAX_SUMMARY_CHARS],
        topics=[topic[:100]] if topic else [],
        key_facts=material.earlier.key_facts if material.earlier else [],
        event_count=material.compacted_rounds,
        started_at=started,
        ended_at=ended,
    )
    return Outcome(summary=summary, provenance=Provenance(source="compaction"))


def _summary_from(answer: Mapping[str, Any], material: SummaryMaterial) -> SessionSummary | None:
    """Return the summary of an answer.

    Raises:
        ProviderError: It is none.
    """
    text = answer.get("summary")
    if not isinstance(text, str) or not text.strip():
        raise ProviderError("The model's answer has no summary.")
    if not material.remainder:
        return None
    earlier = material.earlier
    covered = material.compacted_rounds or (earlier.event_count if earlier else 0)
    started, ended = _span(material)
    return SessionSummary(
        summary=text.strip()[:MAX_SUMMARY_CHARS],
        topics=_texts([*_listed(answer, "topics"), *(earlier.topics if earlier else ())], 100, 10),
        key_facts=_texts([*_listed(answer, "key_facts"), *(earlier.key_facts if earlier else ())], 500, 20),
        event_count=covered + len(material.remainder),
        started_at=started,
        ended_at=ended,
    )


def _span(material: SummaryMaterial) -> tuple[datetime, datetime]:
    """Return when the session began and ended, as far as it is summarised."""
    turns, earlier = material.remainder, material.earlier
    starts = [earlier.started_at] if earlier else []
    ends = [earlier.ended_at] if earlier else []
    starts += [material.since] if material.since else []
    ends += [material.compacted_at] if material.compacted_at else []
    starts += [turns[0].started_at] if turns else []
    ends += [turns[-1].ended_at] if turns else []
    return min(starts), max(ends)


def _named(request: StoredRequest, turns: Sequence[TurnRecord]) -> dict[str, TurnRecord]:
    """Return the turns by the names that prompt and answer call them by: their places in the request, whatever has gone since."""
    names = {request_id: f"t{number}" for number, request_id in enumerate(request.request_ids, 1)}
    return {names[turn.request_id]: turn for turn in turns}


def _listed(answer: Mapping[str, Any], name: str) -> list[Any]:
    found = answer.get(name)
    return found if isinstance(found, list) else []


def _texts(given: Sequence[Any], most: int, count: int) -> list[str]:
    """Return the texts among `given`, each once, none longer than `most`, at most `count`."""
    texts = (" ".join(each.split())[:most] for each in given if isinstance(each, str))
    return list(dict.fromkeys(filter(None, texts)))[:count]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_ROUND_CHARS else f"{text[: MAX_ROUND_CHARS // 2]} … {text[-MAX_ROUND_CHARS // 2 :]}"
