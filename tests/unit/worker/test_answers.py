"""What is kept of a model's answer, and why the rest is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testkit.conversations import item

from discreet.errors import ProviderError
from discreet.prompts.extraction import EXTRACTION_SCHEMA
from discreet.redaction import Redactor
from discreet.state.records import TurnRecord
from discreet.worker.answers import MAX_ITEMS, answer_object, asked_to_forget, check_answer

MONDAY = datetime(2026, 11, 23, 10, tzinfo=UTC)
REDACTOR = Redactor()


def turns(*said, answer="I see."):
    return {
        f"t{number}": TurnRecord(
            request_id=f"r-{number}",
            user_id="ann",
            thread_id="thread",
            input_text=text,
            output_text=answer,
            started_at=MONDAY + timedelta(minutes=number),
            ended_at=MONDAY + timedelta(minutes=number),
        )
        for number, text in enumerate(said, 1)
    }


def checked(items, said, *, moments=(), forgotten=(), answer="I see."):
    return check_answer(
        {"items": list(items), "moments": list(moments)},
        turns(*said, answer=answer),
        forgotten=forgotten,
        redactor=REDACTOR,
        model="gpt-4o-mini",
        model_version="gpt-4o-mini-2024-07-18",
    )


def test_a_good_item_becomes_a_memory_that_tells_where_it_is_from():
    said = ["I keep two parrots.", "One of my parrots is called Miro."]
    [record] = checked([item("Keeps two parrots, one called Miro", "t2", "t1", importance=6)], said).records
    assert (record.text, record.type, record.importance) == ("Keeps two parrots, one called Miro", "user_fact", 6)
    assert (record.request_id, record.thread_id, record.provenance.turns) == ("r-2", "thread", ["r-1", "r-2"])
    assert record.created_at == MONDAY + timedelta(minutes=2)
    assert record.provenance.source == "extraction"
    assert record.provenance.prompt.startswith("extraction/1@")


def test_a_moment_has_its_kind():
    moment = {"text": "Daughter was born", "kind": "milestone", "importance": 9, "confidence": 1, "sources": ["t1"]}
    [record] = checked([], ["My daughter was born this morning!"], moments=[moment]).records
    assert (record.type, record.tags) == ("important_moment", ["milestone"])


def test_what_is_a_moment_is_no_fact_besides():
    moment = {"text": "Daughter was born", "kind": "milestone", "importance": 9, "confidence": 1, "sources": ["t1"]}
    fact = item("Daughter was born", "t1", type="event")
    found = checked([fact], ["My daughter was born this morning!"], moments=[moment])
    assert [record.type for record in found.records] == ["important_moment"]


def test_days_are_counted_from_the_turn():
    [record] = checked([item("Broke a leg yesterday", "t1")], ["I broke my leg yesterday."]).records
    assert "2026" in record.text
    assert "yesterday" not in record.text


@pytest.mark.parametrize(
    ("text", "values", "said", "reason"),
    [
        ("Keeps two parrots", {"sources": []}, "I keep two parrots.", "no_source"),
        ("Keeps two parrots", {"sources": ["t7"]}, "I keep two parrots.", "no_source"),
        ("Keeps two parrots", {"confidence": 0.3}, "I keep two parrots.", "unsure"),
        ("Keeps two parrots", {"confidence": 7}, "I keep two parrots.", "malformed"),
        ("Keeps two parrots", {"importance": 0}, "I keep two parrots.", "malformed"),
        ("Keeps two parrots", {"importance": "high"}, "I keep two parrots.", "malformed"),
        ("Keeps two parrots", {"type": "turn"}, "I keep two parrots.", "malformed"),
        ("Keeps two parrots", {"sources": "t1"}, "I keep two parrots.", "malformed"),
        ("", {}, "I keep two parrots.", "malformed"),
        ("Keeps two parrots", {"action": "nothing"}, "I keep two parrots.", "known"),
        ("Do I keep two parrots?", {}, "Do I keep two parrots?", "question"),
        ("Keeps parrots " * 60, {}, "I keep two parrots.", "too_long"),
        ("Owns a snake", {}, "I keep two parrots.", "not_stated"),
        ("Sở hữu một con rắn", {}, "Tôi nuôi hai con vẹt.", "not_stated"),
        ("Держит змею", {}, "У меня два попугая.", "not_stated"),
        ("养了一条蛇", {}, "我有两只鹦鹉。", "not_stated"),
        ("I keep parrots number 4711", {}, "I keep two parrots.", "not_stated"),
        ("47 11", {}, "I keep two parrots.", "not_stated"),
        ("I live in <LOCATION> with parrots", {}, "I live here with two parrots.", "placeholder"),
        ("User's name is <PERSON>", {}, "My name is <PERSON>.", "placeholder"),
        ("Tên là <PERSON>", {}, "Tôi tên là <PERSON>.", "placeholder"),
        ("Пользователя зовут <PERSON>", {}, "Меня зовут <PERSON>.", "placeholder"),
        ("用户叫<PERSON>", {}, "我叫<PERSON>。", "placeholder"),
        ("<PHONE>", {}, "Call me: <PHONE>", "placeholder"),
        ("User's password is " + "Tr0ub" + "4dor&3x!", {}, "My password is <SECRET>.", "secret"),
    ],
)
def test_what_is_refused(text, values, said, reason):
    found = checked([{**item(text, "t1"), **values}], [said])
    assert (found.refused, found.records) == ({reason: 1}, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The user works at a bakery", "I work nights in a bakery downtown."),
        ("Người dùng sống ở Hà Nội", "Mình sống ở Hà Nội được ba năm rồi."),
        ("Пользователь живёт в Казани", "Я уже три года живу в Казани."),
        ("用户住在河内", "我住在河内三年了。"),
        ("Has a phone number: <PHONE>", "My phone number is <PHONE>."),
        ("Has 2 cats", "I have two cats."),
        ("Flew to Hue on 22 November 2026", "I flew to Hue yesterday."),
        ("Weighs 84 kg", "I weigh 84 kg now."),
    ],
)
def test_a_models_own_wording_is_kept(text, said):
    assert [record.text for record in checked([item(text, "t1")], [said]).records] == [text]


def test_what_was_answered_and_not_said_is_refused():
    answer = "The Hotel Metropole in Hanoi costs 240 dollars and has a rooftop pool."
    found = checked(
        [item("Stays at the Hotel Metropole in Hanoi, which costs 240 dollars", "t1")],
        ["Which hotel should I take in Hanoi?"],
        answer=answer,
    )
    assert found.refused == {"assistant_text": 1}


def test_what_the_user_asked_to_forget_is_refused():
    asked = asked_to_forget(turns("Forget that I am allergic to peanuts.", "I like tea.").values())
    assert [text.rstrip(".") for text in asked] == ["I am allergic to peanuts"]
    found = checked(
        [item("Is allergic to peanuts", "t1"), item("Likes tea", "t2")],
        ["Peanuts make me ill, I'm allergic.", "I like tea."],
        forgotten=asked,
    )
    assert found.refused == {"forgotten": 1}
    assert [record.text for record in found.records] == ["Likes tea"]


def test_a_model_that_repeats_itself_is_cut_off():
    found = checked([item("Keeps two parrots", "t1")] * (MAX_ITEMS + 5), ["I keep two parrots."])
    assert len(found.records) == MAX_ITEMS
    assert found.refused == {"too_many": 5}


@pytest.mark.parametrize(
    "text",
    [
        '{"items": []}',
        'Sure!\n```json\n{"items": []}\n```\nAnything else?',
        '<think>{"items": [1]}</think>{"items": []}',
        'The answer is {"items": []} as you asked.',
    ],
)
def test_the_object_is_found_in_what_models_say_around_it(text):
    assert answer_object(text) == {"items": []}


@pytest.mark.parametrize("text", [None, "", "[]", "no", '{"items": [', "[" * 100_000])
def test_an_answer_without_an_object_is_an_error(text):
    with pytest.raises(ProviderError):
        answer_object(text)


def test_an_answer_to_something_else_is_an_error():
    with pytest.raises(ProviderError):
        check_answer({"summary": "x"}, {}, forgotten=(), redactor=REDACTOR, model=None, model_version=None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


@given(items=st.lists(json_values, max_size=5), moments=json_values)
def test_no_answer_breaks_it(items, moments):
    found = check_answer(
        {"items": items, "moments": moments},
        turns("I keep two parrots."),
        forgotten=(),
        redactor=REDACTOR,
        model=None,
        model_version=None,
    )
    assert found.records == []
    assert sum(found.refused.values()) == len(items) + (len(moments) if isinstance(moments, list) else 0)


def test_characters_that_cannot_be_stored_are_made_so():
    items = [item("Keeps two par\0rots here", "t1"), item("Keeps two \ud800parrots here", "t1")]
    found = checked(items, ["I keep two parrots here."])
    assert [record.text for record in found.records] == ["Keeps two parrots here", "Keeps two \ufffdparrots here"]


def test_the_schema_is_what_strict_structured_output_takes():
    def check(schema):
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            for each in schema["properties"].values():
                check(each)
        elif schema.get("type") == "array":
            check(schema["items"])

    check(json.loads(json.dumps(EXTRACTION_SCHEMA)))
