"""`/v1/files` and `/v1/batches` of OpenAI."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, Final

from discreet.testing.batch_protocols.messages import Reply, Request, line, tokens
from discreet.testing.batch_shelf import OK, BatchShelf, Outcome, StoredBatch

_OUTPUT, _ERRORS = "-output", "-error"
_CODES: Final = {400: "context_length_exceeded", 429: "rate_limit_exceeded", 500: "server_error"}
_UNDONE: Final = {"expired": "batch_expired", "cancelled": "batch_cancelled"}


def failure(status: int) -> object:
    """Return the body of an error; its message is of no use to anybody."""
    return {"error": {"message": "As scripted.", "type": "scripted", "code": _CODES.get(status)}}


def handle(shelf: BatchShelf, request: Request) -> Reply:  # noqa: PLR0911  # a table of routes
    """Answer a request."""
    match request.method, request.path:
        case "POST", ("files",):
            return _upload(shelf, request)
        case "GET", ("files", file_id, "content"):
            return _content(shelf, request, file_id)
        case "DELETE", ("files", file_id):
            return _delete(shelf, request, file_id)
        case "POST", ("batches",):
            return _create(shelf, request)
        case "GET", ("batches",):
            return _list(shelf, request)
        case "GET", ("batches", batch_id) if batch := shelf.find(batch_id, request.project):
            return Reply(_batch(shelf, shelf.look(batch)))
        case "POST", ("batches", batch_id, "cancel") if batch := shelf.find(batch_id, request.project):
            if batch.end is not None:
                return Reply(failure(409), status=409)
            batch.is_cancelled = True
            return Reply(_batch(shelf, batch))
    return Reply(failure(404), status=404)


def _upload(shelf: BatchShelf, request: Request) -> Reply:
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    parts = {}
    for part in BytesParser(policy=HTTP).parsebytes(head + request.body).iter_parts():
        content = part.get_payload(decode=True)
        parts[part.get_param("name", header="content-disposition")] = (part.get_filename(), content)
    if parts["purpose"][1] != b"batch":
        return Reply(failure(400), status=400)
    name, content = parts["file"]
    return Reply(_file(shelf.upload("file-", str(name), bytes(content)), str(name), len(content)))


def _file(file_id: str, name: str, size: int) -> dict[str, Any]:
    told = {"id": file_id, "object": "file", "bytes": size, "created_at": 0, "filename": name}
    return told | {"purpose": "batch", "status": "processed"}


def _content(shelf: BatchShelf, request: Request, file_id: str) -> Reply:
    head, _, kind = file_id.rpartition("-")
    batch = shelf.find(head, request.project)
    if batch is None or batch.deleted or f"-{kind}" not in {_OUTPUT, _ERRORS}:
        return Reply(failure(404), status=404)
    wanted: Callable[[Outcome], bool] = _is_answer if f"-{kind}" == _OUTPUT else lambda outcome: not _is_answer(outcome)
    return Reply(pieces=shelf.lines(batch, lambda outcome: _line(batch, outcome) if wanted(outcome) else b""))


def _delete(shelf: BatchShelf, request: Request, file_id: str) -> Reply:
    batch = shelf.find(file_id.rpartition("-")[0], request.project)
    if shelf.files.pop(file_id, None) is None:
        if batch is None or batch.deleted:
            return Reply(failure(404), status=404)
        batch.deleted = True  # with the other file; the batch itself stays
    elif owner := next((each for each in shelf.of(request.project) if each.input_file == file_id), None):
        owner.deleted = owner.end == "failed"  # it has no other file
    return Reply({"id": file_id, "object": "file", "deleted": True})


def _create(shelf: BatchShelf, request: Request) -> Reply:
    asked = request.json()
    content = shelf.files.get(asked["input_file_id"])
    if content is None or asked["endpoint"] != "/v1/chat/completions" or asked["completion_window"] != "24h":
        return Reply(failure(400), status=400)
    requests = [json.loads(each) for each in content.splitlines()]
    prompts = [(each["custom_id"], each["body"]["messages"][-1]["content"]) for each in requests]
    batch = shelf.put(
        "batch_",
        prompts,
        job=(asked.get("metadata") or {}).get("discreet_job", ""),
        model=requests[0]["body"]["model"],
        project=request.project,
        input_file=asked["input_file_id"],
        sent=requests,
    )
    return Reply(_batch(shelf, batch), is_batch=True)


def _list(shelf: BatchShelf, request: Request) -> Reply:
    batches = shelf.of(request.project)
    after, limit = request.query.get("after"), int(request.query.get("limit", 20))
    start = next((number + 1 for number, each in enumerate(batches) if each.id == after), 0)
    page = [_batch(shelf, shelf.look(each)) for each in batches[start : start + limit]]
    more = len(batches) > start + limit
    return Reply({"object": "list", "data": page, "has_more": more, "last_id": page[-1]["id"] if page else None})


def _batch(shelf: BatchShelf, batch: StoredBatch) -> dict[str, Any]:
    """Return a batch as the API does (API reference, "The batch object")."""
    running = "cancelling" if batch.is_cancelled else "in_progress"
    outcomes = list(shelf.outcomes(batch)) if batch.end and len(batch.prompts) < 1000 else []
    has_answers = bool(shelf.script.bytes) or any(map(_is_answer, outcomes))
    has_errors = not all(map(_is_answer, outcomes))
    told: Mapping[str, Any] = {
        "id": batch.id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "created_at": int(batch.created.timestamp()),
        "status": batch.end or running,
        "metadata": {"discreet_job": batch.job},
        "input_file_id": batch.input_file,
        "output_file_id": f"{batch.id}{_OUTPUT}" if has_answers else None,
        "error_file_id": f"{batch.id}{_ERRORS}" if has_errors else None,
        "errors": {"data": [{"code": "invalid_json_line", "message": "As scripted."}]}
        if batch.end == "failed"
        else None,
    }
    return dict(told)


def _is_answer(outcome: Outcome) -> bool:
    return outcome.end == "completed"


def _line(batch: StoredBatch, outcome: Outcome) -> bytes:
    """Return a line of the output or the error file (API reference, "The request output object")."""
    told: dict[str, Any] = {"id": "batch_req_1", "custom_id": outcome.custom_id, "response": None, "error": None}
    if outcome.end in _UNDONE:
        return line(told | {"error": {"code": _UNDONE[outcome.end], "message": "As scripted."}})
    body: object = failure(outcome.status)
    if outcome.status == OK:
        message = {"role": "assistant", "content": outcome.text, "refusal": None}
        prompt, answer = tokens(outcome)
        body = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": f"{batch.model}-2026-01-01",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
        }
    return line(told | {"response": {"status_code": outcome.status, "request_id": "req_1", "body": body}})
