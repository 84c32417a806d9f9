"""What is left of a run before LangSmith's client gets it."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.api.tracing import KEPT, TextlessClient, error_name, textless
from discreet.redaction import Redactor

REDACTOR = Redactor()
SENTENCES = ("My name is Ann", "Tôi tên là Ánh", "Меня зовут Анна", "我叫小明")


@pytest.mark.parametrize("text", SENTENCES)
def test_no_field_that_can_hold_text_is_left(text):
    fields = {
        "name": text,
        "session_name": text,
        "inputs": {"q": text},
        "outputs": {"a": text},
        "error": f"ValueError({text!r})Traceback …",
        "events": [{"name": "new_token", "time": 1, "kwargs": {"token": text}}, {"name": text, "time": 2}],
        "tags": [text],
        "serialized": {"kwargs": {"prompt": text}},
        "attachments": {text: ("text/plain", text.encode())},
        "extra": {
            "metadata": {"ls_model_name": text, text: 1, "langgraph_node": "tools", "user_id": text},
            "invocation_params": {"stop": [text]},
        },
        "a field of a later release": text,
    }
    left = textless(fields, REDACTOR)
    assert text not in str(left)
    assert left["error"] == "ValueError"
    assert left["events"] == [{"name": "new_token", "time": 1}]
    assert left["extra"] == {"metadata": {"ls_model_name": "unnamed", "langgraph_node": "tools"}}


def test_ids_times_and_counts_of_tokens_stay():
    run, now = uuid4(), datetime.now(UTC)
    usage = {"input_tokens": 3, "input_token_details": {"cache_read": 1}, "said": "no number"}
    left = textless({"id": run, "start_time": now, "extra": {"metadata": {"usage_metadata": usage}}}, REDACTOR)
    assert (left["id"], left["start_time"]) == (run, now)
    counted = {"input_tokens": 3, "input_token_details": {"cache_read": 1}}
    assert left["extra"]["metadata"]["usage_metadata"] == counted


def test_a_name_that_is_an_address_is_redacted():
    assert textless({"name": "ann.lee@example.com"}, REDACTOR)["name"] != "ann.lee@example.com"


@given(st.dictionaries(st.text(), st.text()))
def test_only_known_fields_are_left(fields):
    assert set(textless(fields, REDACTOR)) <= KEPT | {
        "name",
        "session_name",
        "project_name",
        "error",
        "events",
        "extra",
    }


@given(st.text())
def test_an_error_is_a_class_or_nothing(text):
    assert error_name(f"{text}\n") == "Error" or error_name(text).isidentifier()
    assert error_name(f"KeyError({text!r})") == "KeyError"


def test_hiding_can_not_be_turned_off_by_an_option():
    client = TextlessClient(REDACTOR, hide_inputs=False, hide_outputs=False, anonymizer=None, info={}, api_key="none")
    assert client._hide_run_inputs({"q": "text"}) == {}
    assert client._hide_run_outputs({"q": "text"}) == {}
    assert client._hide_run_error("RuntimeError('text')") == "RuntimeError"
    assert client._hide_run_metadata({"q": "text", "ls_model_name": "a model"}) == {"ls_model_name": "unnamed"}
