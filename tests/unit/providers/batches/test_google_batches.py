"""What is Google's own: inline or by file, 48 hours, a bad key as 400 and a missing file as 403."""

from datetime import timedelta

import pytest
from google.genai.types import BatchJob

from discreet.providers.batches import google as module


@pytest.fixture
def provider(open_provider):
    return open_provider("google", options={"temperature": 0, "topP": 0.5})


@pytest.mark.slow
async def test_the_same_goes_inline_and_by_file(provider, server, ask, monkeypatch):
    await provider.submit("job-1", "gemini-3.8-flash", ask(max_tokens=77))
    monkeypatch.setattr(module, "INLINE_BYTES", 0)
    await provider.submit("job-1", "gemini-3.8-flash", ask(max_tokens=77))
    inline, by_file = ([each["request"] for each in batch.sent] for batch in server.shelf.batches)
    for sent in (inline[0], by_file[0]):
        assert sent["generationConfig"] == {
            "temperature": 0,
            "topP": 0.5,
            "maxOutputTokens": 77,
            "responseMimeType": "application/json",
            "responseJsonSchema": ask()[0].schema,
        }
        assert sent["contents"] == [{"role": "user", "parts": [{"text": "Data 0"}]}]
        assert sent["systemInstruction"]["parts"] == [{"text": "Echo."}]
    assert server.shelf.batches[0].job == "discreet-job-1.inline"
    assert server.shelf.batches[1].job == f"discreet-job-1.{server.shelf.batches[1].input_file}"


async def test_answers_that_may_be_large_are_written_to_a_file(provider, server, ask, monkeypatch):
    monkeypatch.setattr(module, "INLINE_TOKENS", 100)
    await provider.submit("job-1", "m", ask(2, max_tokens=50))
    await provider.submit("job-2", "m", ask(2, max_tokens=51))
    assert [each.input_file is None for each in server.shelf.batches] == [True, False]


async def test_no_job_is_found_whose_name_only_begins_alike(provider, server, ask):
    await provider.submit("job-1.2", "m", ask())
    assert await provider.find("job-1", [], server.shelf.batches[0].created) is None
    assert await provider.find("job-1.2", [], server.shelf.batches[0].created) == server.shelf.batches[0].id


async def test_a_file_of_results_goes_after_48_hours(provider, server, ask, monkeypatch):
    monkeypatch.setattr(module, "INLINE_BYTES", 0)
    batch_id = await provider.submit("job-1", "m", ask())
    assert (await provider.status(batch_id)).state == "ended"
    monkeypatch.setattr(module, "FILE_LIFE", timedelta(0))
    assert (await provider.status(batch_id)).state == "vanished"


async def test_a_file_that_is_not_there_is_no_refused_key(provider, server, ask, monkeypatch):
    monkeypatch.setattr(module, "INLINE_BYTES", 0)
    batch_id = await provider.submit("job-1", "m", ask())
    await provider.status(batch_id)
    server.shelf.files.clear()
    monkeypatch.setattr("discreet.testing.batch_protocols.google._MAX_FILE_ID", 5)
    await provider.delete(batch_id)  # the name of the file of results is too long for its deletion
    assert [path for method, path, status in server.requests if status == 403]
    assert [path for method, path, status in server.requests if status == 400]


@pytest.mark.slow
async def test_an_upload_that_breaks_off_is_made_again(provider, server, ask, monkeypatch):
    monkeypatch.setattr(module, "INLINE_BYTES", 0)
    upload, broken = server.shelf.upload, []

    def breaking(*given):
        if not broken:
            server.script.broken = 3  # as often as the client sends a piece
        broken.append(given)
        return upload(*given)

    monkeypatch.setattr(server.shelf, "upload", breaking)
    monkeypatch.setattr("google.genai._api_client.INITIAL_RETRY_DELAY", 0)
    await provider.submit("job-1", "m", ask())
    assert len(broken) == 2
    assert len(server.shelf.batches[0].prompts) == 2


@pytest.mark.parametrize("state", ["PENDING", "PAUSED", "CANCELLING", "PARTIALLY_SUCCEEDED"])
def test_every_state_is_understood(state):
    assert module._state(BatchJob(state=f"JOB_STATE_{state}")) == state


def test_a_state_that_the_client_does_not_know_is_understood():
    with pytest.warns(UserWarning, match="not a valid JobState"):
        assert module._state(BatchJob(state="BATCH_STATE_PARTIALLY_SUCCEEDED")) == "PARTIALLY_SUCCEEDED"
    assert module._state(BatchJob()) == ""


def answer(*parts, ended="STOP", **more):
    candidate = {"content": {"parts": parts}, "finishReason": ended}
    return {"response": {"candidates": [candidate], "modelVersion": "g-1", **more}}


TEXT = {"text": "{}"}


@pytest.mark.parametrize(
    ("line", "state", "error", "is_final"),
    [
        (answer({"text": "hm", "thought": True}, TEXT), "succeeded", None, False),
        (answer(ended="SAFETY"), "failed", "SAFETY", True),
        (answer(TEXT, ended="MAX_TOKENS"), "failed", "length", False),
        (answer(), "failed", "empty", False),
        ({"response": {"promptFeedback": {"blockReason": "OTHER"}}}, "failed", "OTHER", True),
        ({"error": {"code": 3, "message": "Ann's text"}}, "failed", "3", True),
        ({"error": {"code": 400}}, "failed", "400", True),
        ({"status": {"code": 13}}, "failed", "13", False),
        ({"error": {"code": 4}}, "expired", "4", False),
        ({"error": {"code": 1}}, "cancelled", "1", False),
    ],
)
def test_each_kind_of_line_is_read(line, state, error, is_final):
    result = module._result({"key": "p-0", **line})
    assert (result.state, result.error, result.is_final) == (state, error, is_final)
    assert result.text == ("{}" if state == "succeeded" else None)


def test_thoughts_are_paid_for():
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 11}
    result = module._result({"key": "p-0", **answer(TEXT, usageMetadata=usage)})
    assert (result.input_tokens, result.output_tokens) == (5, 18)
