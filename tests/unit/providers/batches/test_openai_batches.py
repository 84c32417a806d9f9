"""What is OpenAI's own: files, metadata, two kinds of results."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from discreet.errors import ProviderError
from discreet.providers.batches import openai as module


@pytest.fixture
def provider(open_provider):
    return open_provider("openai", options={"temperature": 0, "messages": "no"})


async def test_prompts_go_as_lines_with_a_strict_schema(provider, server, ask):
    await provider.submit("job-1", "gpt-5.4-mini", ask(max_tokens=77))
    assert list(server.shelf.names.values()) == ["discreet-job-1.jsonl"]
    (content,) = server.shelf.files.values()
    first = json.loads(content.splitlines()[0])
    assert (first["custom_id"], first["method"], first["url"]) == ("p-0", "POST", "/v1/chat/completions")
    body = first["body"]
    assert (body["model"], body["max_completion_tokens"], body["temperature"]) == ("gpt-5.4-mini", 77, 0)
    assert body["messages"] == [{"role": "system", "content": "Echo."}, {"role": "user", "content": "Data 0"}]
    assert body["response_format"]["json_schema"]["strict"] is True
    assert len(content) == sum(provider.size(each, "gpt-5.4-mini") for each in ask(max_tokens=77))
    assert server.shelf.batches[0].job == "job-1"


async def test_a_separator_in_a_prompt_ends_no_line(provider, server, ask):
    (request,) = ask(1)
    object.__setattr__(request, "data", "a\u2028b\x85c\u2029d\ne")
    await provider.submit("job-1", "m", [request])
    (content,) = server.shelf.files.values()
    assert len(content.decode().splitlines()) == 1
    assert server.shelf.batches[0].prompts == [("p-0", "a\u2028b\x85c\u2029d\ne")]


async def test_what_was_uploaded_for_a_batch_that_is_refused_is_deleted(provider, server, ask, monkeypatch):
    upload = server.shelf.upload

    def spoil(*given):
        file_id = upload(*given)
        server.script.overloaded, server.script.retry_after = 1, 60.0
        return file_id

    monkeypatch.setattr(server.shelf, "upload", spoil)
    with pytest.raises(ProviderError) as raised:
        await provider.submit("job-1", "m", ask())
    assert raised.value.is_passing
    assert server.shelf.lying() == []


async def test_an_upload_that_failed_is_made_again(provider, server, ask):
    server.script.broken = 1
    await provider.submit("job-1", "m", ask())
    assert [status for _, _, status in server.requests] == [500, 200, 200]


async def test_the_search_for_a_batch_ends_at_those_that_are_older(provider, server, ask):
    for number in range(3):
        await provider.submit(f"job-{number}", "m", ask())
    server.shelf.batches[0].created -= timedelta(days=1)
    now = datetime.now(UTC)
    assert await provider.find("job-1", [], now) == server.shelf.batches[1].id
    assert await provider.find("job-0", [], now) is None
    assert await provider.find("job-0", [], now - timedelta(days=2)) == server.shelf.batches[0].id


async def test_a_batch_is_found_on_a_later_page(provider, server, ask):
    first = await provider.submit("job-first", "m", ask(1))
    for number in range(120):
        server.shelf.put("batch_x", [], job=f"other-{number}", input_file="file-x")
    assert await provider.find("job-first", [], datetime.now(UTC)) == first


async def test_why_a_batch_failed_as_a_whole_is_told_as_a_code(provider, server, ask):
    server.script.ends = "failed"
    status = await provider.status(await provider.submit("job-1", "m", ask()))
    assert (status.state, status.told, status.error) == ("ended", "failed", "invalid_json_line")


async def test_a_batch_whose_files_are_gone_has_no_results(provider, server, ask):
    batch_id = await provider.submit("job-1", "m", ask())
    await provider.status(batch_id)
    server.shelf.batches[0].deleted = True
    assert [each async for each in provider.results(batch_id)] == []


def answer(message, ended="stop"):
    body = {"model": "m-1", "choices": [{"message": message, "finish_reason": ended}], "usage": None}
    return {"response": {"status_code": 200, "body": body}, "error": None}


def refusal(status, error):
    return {"response": {"status_code": status, "body": {"error": error}}, "error": None}


@pytest.mark.parametrize(
    ("line", "state", "error", "is_final"),
    [
        (answer({"content": "{}"}), "succeeded", None, False),
        (answer({"content": None, "refusal": "No: Ann's text."}), "failed", "refusal", True),
        (answer({"content": "{"}, "length"), "failed", "length", False),
        (answer({"content": "{"}, "content_filter"), "failed", "content_filter", True),
        (answer({"content": ""}), "failed", "empty", False),
        (refusal(400, {"code": "context_length_exceeded"}), "failed", "context_length_exceeded", True),
        (refusal(413, {}), "failed", "413", True),
        (refusal(429, {"code": "Ann's text, too long for a code", "type": "requests"}), "failed", "requests", False),
        ({"response": None, "error": {"code": "batch_expired", "message": "…"}}, "expired", "batch_expired", False),
        ({"response": None, "error": {"code": "batch_cancelled"}}, "cancelled", "batch_cancelled", False),
        ({"response": None, "error": {"code": "request_timeout"}}, "failed", "request_timeout", False),
    ],
)
def test_each_kind_of_line_is_read(line, state, error, is_final):
    result = module._result({"custom_id": "p-0", **line})
    assert (result.custom_id, result.state, result.error, result.is_final) == ("p-0", state, error, is_final)
    assert (result.text is None) == (state != "succeeded")


def test_the_limits_leave_a_margin():
    assert module.LIMITS.requests == 50_000
    assert module.LIMITS.bytes < 200_000_000
