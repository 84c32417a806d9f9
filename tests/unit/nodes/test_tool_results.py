"""What stands in the state of a tool's result can be read by those who parse it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.nodes.tool_results import MAX_RESULT_CHARS, shown_result
from discreet.redaction import Redactor

MEMORY = {"entry_id": "0f8fad5b-d9cb-469f-a165-70867728950e", "text": "Keeps two grey parrots. " * 6, "relevance": 0.87}


class AsGiven:
    def redact(self, text):
        return text


def shown(value):
    return json.loads(shown_result(json.dumps(value, ensure_ascii=False), AsGiven()))


def test_many_memories_become_fewer_whole_ones_and_a_mark():
    kept = shown({"memories": [MEMORY] * 20, "total": 20})
    assert kept["memories"] == [MEMORY] * len(kept["memories"])
    assert 3 <= len(kept["memories"]) < 20
    assert (kept["total"], kept["truncated"]) == (20, True)


def test_what_fits_stays_as_it_is():
    text = '{"memories":  [], "n": 1.50}'
    assert shown_result(text, AsGiven()) == text


def test_a_long_text_is_shortened_and_its_object_marked():
    kept = shown({"page": "word " * 1_000, "url": "https://example.org"})
    assert kept["url"] == "https://example.org"
    assert kept["page"].startswith("word word ")
    assert kept["page"].endswith(" …")
    assert kept["truncated"] is True


def test_a_list_of_objects_is_marked_in_its_last_and_another_list_at_its_end():
    assert shown([MEMORY] * 20)[-1] == {**MEMORY, "truncated": True}
    assert shown(["word " * 10] * 100)[-1] == "…"


def test_other_text_is_cut_where_it_is_long():
    assert shown_result("x" * 2_000, AsGiven()) == "x" * MAX_RESULT_CHARS + " …"
    assert shown_result("{no json " * 200, AsGiven()).endswith(" …")


@pytest.mark.parametrize("items", [1, 60])
def test_values_are_redacted_and_json_stays_json(items, token):
    mail = f"{token}@example.com"
    text = json.dumps({"found": [{"mail": mail, "card": 4111111111111111}] * items})
    kept = shown_result(text, Redactor())
    assert token not in kept
    assert "4111" not in kept
    assert json.loads(kept)["found"][0] == {"mail": "<EMAIL>", "card": "<CARD>"}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=400),
    lambda part: st.lists(part, max_size=30) | st.dictionaries(st.text(max_size=40), part, max_size=30),
    max_leaves=200,
)


@pytest.mark.slow
@given(st.lists(anything) | st.dictionaries(st.text(), anything))
def test_any_json_stays_json_of_its_kind_within_the_length(value):
    kept = shown(value)
    if len(json.dumps(value, ensure_ascii=False)) <= MAX_RESULT_CHARS:
        assert kept == value
    assert type(kept) is type(value)
    assert len(json.dumps(kept, ensure_ascii=False)) <= MAX_RESULT_CHARS
