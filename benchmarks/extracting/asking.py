"""Extract from turns as the worker does: its prompt, its checks, a provider of one's choice; only the database is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import uuid4

from extracting.scoring import Turn

from discreet.errors import ProviderError
from discreet.ports import BatchProvider
from discreet.redaction import Redactor
from discreet.state.background import StoredRequest
from discreet.state.records import TurnRecord
from discreet.storage.background.requests import ExtractionMaterial
from discreet.worker.answers import answer_object, asked_to_forget, check_answer
from discreet.worker.prompting import extraction_request

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


@dataclass
class Extraction:
    """What came of all prompts."""

    items: dict[str, list[str]] = field(default_factory=dict)
    """Texts by the id of their turn."""
    refused: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


async def extract(turns: Sequence[Turn], provider: BatchProvider, model: str, *, size: int) -> Extraction:
    """Extract from `turns`, `size` of them in a prompt."""
    found = Extraction(items={turn.id: [] for turn in turns})
    prompts = [_prompt(list(part)) for part in _parts(turns, size)]
    requests = {request.custom_id: material for request, material in prompts}
    batch_id = await provider.submit(
        uuid4().hex, model, [extraction_request(request, material) for request, material in prompts]
    )
    async for result in provider.results(batch_id):
        found.input_tokens += result.input_tokens
        found.output_tokens += result.output_tokens
        try:
            _add(found, answer_object(result.text), requests[result.custom_id])
        except ProviderError:
            found.failed += 1
    await provider.delete(batch_id)
    return found


def _add(found: Extraction, answer: Mapping[str, object], material: ExtractionMaterial) -> None:
    named = {f"t{number}": turn for number, turn in enumerate(material.turns, 1)}
    checked = check_answer(
        answer,
        named,
        forgotten=asked_to_forget(material.forgotten),
        redactor=Redactor(),
        model=None,
        model_version=None,
    )
    found.refused.update(checked.refused)
    for record in checked.records:
        for request_id in record.provenance.turns or ():
            found.items[request_id].append(record.text)


def _parts(turns: Sequence[Turn], size: int) -> Iterator[Sequence[Turn]]:
    for language in dict.fromkeys(turn.language for turn in turns):
        said = iter([turn for turn in turns if turn.language == language])
        while part := list(islice(said, size)):
            yield part


def _prompt(turns: Sequence[Turn]) -> tuple[StoredRequest, ExtractionMaterial]:
    records = [
        TurnRecord(
            request_id=turn.id,
            user_id="somebody",
            thread_id="thread",
            input_text=Redactor().redact(turn.said),
            output_text="",
            started_at=BEGAN + timedelta(minutes=number),
            ended_at=BEGAN + timedelta(minutes=number, seconds=5),
        )
        for number, turn in enumerate(turns)
    ]
    request = StoredRequest(
        user_key=uuid4(),
        request_key=uuid4(),
        kind="extraction",
        thread_id="thread",
        thread_key=uuid4(),
        app_name="default",
        trigger="manual",
        epoch=1,
        request_ids=tuple(turn.id for turn in turns),
    )
    return request, ExtractionMaterial(turns=records, known=(), forgotten=())
