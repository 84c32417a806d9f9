"""Batches and files of Google's Gemini API, of any version."""

from __future__ import annotations

import json
from typing import Any, Final

from discreet.testing.batch_protocols.messages import Reply, Request, line, tokens
from discreet.testing.batch_shelf import OK, BatchShelf, Outcome, StoredBatch

_STATUSES: Final = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
_STATES: Final = {"completed": "SUCCEEDED", "expired": "EXPIRED", "cancelled": "CANCELLED", "failed": "FAILED"}
_CODES: Final = {"expired": 4, "cancelled": 1}
"""Of gRPC: deadline exceeded, cancelled."""
_GRPC: Final = {400: 3, 429: 8, 500: 13}
_MAX_FILE_ID: Final = 40


def failure(status: int) -> object:
    """Return the body of an error; a key that is not valid has a reason."""
    error = {"code": status, "message": "As scripted.", "status": _STATUSES.get(status, "INTERNAL")}
    if status == 401:
        reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        error |= {"code": 400, "status": "INVALID_ARGUMENT", "details": [reason]}
    return {"error": error}


def handle(shelf: BatchShelf, request: Request) -> Reply:  # noqa: PLR0911  # a table of routes
    """Answer a request."""
    match request.method, request.path:
        case "POST", ("upload", _, "files"):
            return _start(shelf, request)
        case "POST", ("upload", file_id):
            return _append(shelf, request, file_id)
        case "POST", (_, "models", call) if call.endswith(":batchGenerateContent"):
            return _create(shelf, request, call.partition(":")[0])
        case "GET", (_, "batches"):
            return _list(shelf, request)
        case method, (_, "batches", call):
            return _one(shelf, request, method, *call.partition(":")[::2])
        case method, (_, "files", call):
            return _file(shelf, request, method, *call.partition(":")[::2])
    return Reply(failure(404), status=404)


def _start(shelf: BatchShelf, request: Request) -> Reply:
    file_id = shelf.upload("f", request.json()["file"].get("displayName", ""), b"")
    headers = {"X-Goog-Upload-URL": f"{request.origin}/upload/{file_id}", "X-Goog-Upload-Status": "active"}
    return Reply({}, headers=headers)


def _append(shelf: BatchShelf, request: Request, file_id: str) -> Reply:
    shelf.files[file_id] += request.body
    if "finalize" not in request.headers["x-goog-upload-command"]:
        return Reply({}, headers={"X-Goog-Upload-Status": "active"})
    return Reply({"file": {"name": f"files/{file_id}"}}, headers={"X-Goog-Upload-Status": "final"})


def _create(shelf: BatchShelf, request: Request, model: str) -> Reply:
    asked = request.json()["batch"]
    source, file_id = asked["inputConfig"], None
    if "fileName" in source:
        file_id = source["fileName"].removeprefix("files/")
        if file_id not in shelf.files:
            return Reply(failure(400), status=400)
        requests = [json.loads(each) for each in shelf.files[file_id].splitlines()]
    else:
        requests = [each | {"key": each["metadata"]["key"]} for each in source["requests"]["requests"]]
    prompts = [(each["key"], each["request"]["contents"][-1]["parts"][0]["text"]) for each in requests]
    batch = shelf.put(
        "batches/b",
        prompts,
        job=asked["displayName"],
        model=model,
        project=request.project,
        input_file=file_id,
        sent=requests,
    )
    return Reply(_batch(shelf, batch), is_batch=True)


def _list(shelf: BatchShelf, request: Request) -> Reply:
    batches, start = shelf.of(request.project), int(request.query.get("pageToken") or 0)
    end = start + int(request.query.get("pageSize") or 50)
    more = {"nextPageToken": str(end)} if len(batches) > end else {}
    return Reply({"operations": [_batch(shelf, shelf.look(each)) for each in batches[start:end]], **more})


def _one(shelf: BatchShelf, request: Request, method: str, name: str, verb: str) -> Reply:
    batch = shelf.find(f"batches/{name}", request.project)
    match method, verb:
        case _ if batch is None:
            return Reply(failure(404), status=404)
        case "GET", "":
            return Reply(_batch(shelf, shelf.look(batch), is_read=True))
        case "POST", "cancel" if not batch.end:
            batch.is_cancelled = True
            return Reply({})
        case "DELETE", "":
            shelf.remove(batch)
            return Reply({})
    return Reply(failure(400), status=400)


def _file(shelf: BatchShelf, request: Request, method: str, name: str, verb: str) -> Reply:
    batch = shelf.find(f"batches/{name.removeprefix('batch-')}", request.project) if name.startswith("batch-") else None
    if len(name) > _MAX_FILE_ID and verb != "download":
        return Reply(failure(400), status=400)
    match method, verb:
        case "GET", "download" if batch is not None and request.query.get("alt") == "media":
            return Reply(pieces=shelf.lines(batch, lambda outcome: line(_result(batch, outcome))))
        case "DELETE", "" if shelf.files.pop(name, None) is not None or batch is not None:
            return Reply({})
    return Reply(failure(403), status=403)  # as it is said of what isn't there


def _batch(shelf: BatchShelf, batch: StoredBatch, *, is_read: bool = False) -> dict[str, Any]:
    """Return a batch as the API does: as an operation."""
    told: dict[str, Any] = {
        "model": f"models/{batch.model}",
        "displayName": batch.job,
        "state": f"BATCH_STATE_{_STATES[batch.end] if batch.end else 'RUNNING'}",
        "createTime": batch.created.isoformat(),
    }
    if batch.end:
        told["endTime"] = batch.created.isoformat()
    if batch.end and batch.end != "failed":
        if batch.input_file is not None:
            told["output"] = {"responsesFile": f"files/batch-{batch.id.removeprefix('batches/')}"}
        else:
            batch.read += is_read
            responses = [_inlined(_result(batch, each)) for each in shelf.outcomes(batch)]
            told["output"] = {"inlinedResponses": {"inlinedResponses": responses}}
    return {"name": batch.id, "metadata": told, "done": batch.end is not None}


def _inlined(result: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"key": result.pop("key")}, **result}


def _result(batch: StoredBatch, outcome: Outcome) -> dict[str, Any]:
    if outcome.status != OK or outcome.end != "completed":
        code = _CODES.get(outcome.end) or _GRPC.get(outcome.status, outcome.status)
        return {"key": outcome.custom_id, "error": {"code": code, "message": "As scripted."}}
    prompt, answer = tokens(outcome)
    response = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": outcome.text}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": prompt, "candidatesTokenCount": answer},
        "modelVersion": f"{batch.model}-001",
    }
    return {"key": outcome.custom_id, "response": response}
