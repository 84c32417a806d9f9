"""`/v1/messages/batches` of Anthropic."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from discreet.testing.batch_protocols.messages import Reply, Request, line, tokens
from discreet.testing.batch_shelf import OK, BatchShelf, Outcome, StoredBatch

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def failure(status: int) -> object:
    """Return the body of an error; its message is of no use to anybody."""
    return {"type": "error", "error": {"type": _TYPES.get(status, "api_error"), "message": "As scripted."}}


def handle(shelf: BatchShelf, request: Request) -> Reply:
    """Answer a request."""
    if request.path[:3] != ("v1", "messages", "batches"):
        return Reply(failure(404), status=404)
    match request.method, request.path[3:]:
        case "POST", ():
            requests = request.json()["requests"]
            prompts = [(each["custom_id"], each["params"]["messages"][-1]["content"]) for each in requests]
            model = requests[0]["params"]["model"]
            taken = shelf.put("msgbatch_", prompts, model=model, project=request.project, sent=requests)
            return Reply(_batch(shelf, request, taken), is_batch=True)
        case "GET", ():
            return _list(shelf, request)
        case method, (batch_id, *rest) if batch := shelf.find(batch_id, request.project):
            return _one(shelf, request, batch, method, *rest)
    return Reply(failure(404), status=404)


def _one(shelf: BatchShelf, request: Request, batch: StoredBatch, method: str, *rest: str) -> Reply:
    match method, rest:
        case "GET", ():
            return Reply(_batch(shelf, request, shelf.look(batch)))
        case "GET", ("results",) if batch.end:
            return Reply(pieces=shelf.lines(batch, lambda outcome: _line(batch, outcome)))
        case "POST", ("cancel",) if not batch.end:
            batch.is_cancelled = True
            return Reply(_batch(shelf, request, batch))
        case "DELETE", () if batch.end:
            shelf.remove(batch)
            return Reply({"id": batch.id, "type": "message_batch_deleted"})
    return Reply(failure(400), status=400)


def _list(shelf: BatchShelf, request: Request) -> Reply:
    batches = shelf.of(request.project)
    after, limit = request.query.get("after_id"), int(request.query.get("limit", 20))
    start = next((number + 1 for number, each in enumerate(batches) if each.id == after), 0)
    page = [_batch(shelf, request, shelf.look(each)) for each in batches[start : start + limit]]
    ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
    return Reply({"data": page, "has_more": len(batches) > start + limit, **ends})


def _batch(shelf: BatchShelf, request: Request, batch: StoredBatch) -> dict[str, Any]:
    """Return a batch as the API does (API reference, "Message Batches")."""
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    for outcome in shelf.outcomes(batch):
        counts[_kind(outcome)] += 1
    counts["processing"] = len(batch.prompts) if not batch.end else 0
    if batch.end == "failed":
        counts["errored"] = len(batch.prompts)
    running = "canceling" if batch.is_cancelled else "in_progress"
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if batch.end else running,
        "request_counts": counts,
        "created_at": batch.created.isoformat(),
        "expires_at": (batch.created + timedelta(days=1)).isoformat(),
        "ended_at": batch.created.isoformat() if batch.end else None,
        "archived_at": None,
        "results_url": f"{request.origin}/v1/messages/batches/{batch.id}/results" if batch.end else None,
    }


def _kind(outcome: Outcome) -> str:
    kinds = {"completed": "succeeded", "expired": "expired", "cancelled": "canceled", "failed": "errored"}
    return kinds[outcome.end]


def _line(batch: StoredBatch, outcome: Outcome) -> bytes:
    """Return a line of the results (API reference, "Retrieve Message Batch results")."""
    result: dict[str, Any] = {"type": _kind(outcome)}
    if outcome.status != OK:
        result["error"] = failure(outcome.status)
    elif outcome.end == "completed":
        prompt, answer = tokens(outcome)
        result["message"] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": f"{batch.model}-20260101",
            "content": [{"type": "text", "text": outcome.text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": prompt, "output_tokens": answer},
        }
    return line({"custom_id": outcome.custom_id, "result": result})
