"""Which fields of a record are redacted."""

from __future__ import annotations

from datetime import UTC, datetime

from discreet.redaction import Redactor
from discreet.redaction.records import redacted_filters, redacted_record, redacted_turn
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord

MAIL = "ann" + "@" + "example.com"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_text_reasoning_tags_and_feedback_are_redacted():
    record = MemoryRecord(
        text=f"Write to {MAIL}",
        reasoning=f"{MAIL}, so",
        tags=[MAIL, "mail"],
        feedback=[{"comment": [MAIL], "rating": 5}],
    )
    redacted = redacted_record(record, Redactor())
    assert redacted.text == "Write to <EMAIL>"
    assert redacted.reasoning == "<EMAIL>, so"
    assert redacted.tags == ["<EMAIL>", "mail"]
    assert redacted.feedback == [{"comment": ["<EMAIL>"], "rating": 5}]
    assert redacted.entry_id == record.entry_id


def test_a_filter_finds_tags_as_they_are_stored():
    assert redacted_filters(MemoryFilters(tags=[MAIL]), Redactor()).tags == ["<EMAIL>"]
    assert redacted_filters(MemoryFilters(), Redactor()).tags is None


def test_both_texts_of_a_turn_are_redacted_once():
    turn = TurnRecord(
        request_id="r", user_id="u", thread_id="t", input_text=MAIL, output_text=MAIL, started_at=NOW, ended_at=NOW
    )
    redacted = redacted_turn(turn, Redactor())
    assert (redacted.input_text, redacted.output_text) == ("<EMAIL>", "<EMAIL>")
    assert redacted_turn(redacted, Redactor()) == redacted


def test_feedback_is_redacted_in_keys_and_numbers_too():
    feedback = [{MAIL: 1, "card": 4111111111111111}]
    redacted = redacted_record(MemoryRecord(text="x", feedback=feedback), Redactor())
    assert redacted.feedback == [{"<EMAIL>": 1, "card": "<CARD>"}]


def test_what_a_caller_says_of_media_is_redacted_and_its_digest_stays():
    digest = "0" * 10 + "4111111111111111" + "a" * 38
    turn = TurnRecord(
        request_id="r",
        user_id="u",
        thread_id="t",
        input_text="x",
        output_text="y",
        started_at=NOW,
        ended_at=NOW,
        media=[
            {"mime": f"audio/{MAIL}", "language": MAIL, "durationMs": 2_125_550_147, "sha256": digest},
            {"modality": "image", "imageType": f"card of {MAIL}", "tags": ["business card", MAIL]},
        ],
    )
    assert redacted_turn(turn, Redactor()).media == [
        {"mime": "audio/<EMAIL>", "language": "<EMAIL>", "durationMs": 2_125_550_147, "sha256": digest},
        {"modality": "image", "imageType": "card of <EMAIL>", "tags": ["business card", "<EMAIL>"]},
    ]
