"""Answer what went wrong: one form of JSON, a stable code, and nothing of what the caller sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import JSONResponse

from discreet.errors import (
    AccessError,
    BodyTooLargeError,
    DelegationError,
    DiscreetError,
    EntryExistsError,
    FeedbackLimitError,
    InputError,
    InputTooLargeError,
    InvalidFilterError,
    InvalidRequestError,
    KeyReusedError,
    MalformedRequestError,
    MediaTypeError,
    MemoryRefusedError,
    MessageIdReusedError,
    NotFoundError,
    ProviderError,
    RequestError,
    SettingRefusedError,
    StillWorkingError,
    StorageError,
    ThreadBusyError,
    UnauthorisedError,
)
from discreet.state.described import describe_fields, problem_of

RETRY_SECONDS = 5
"""When to ask again after a failure that may pass; a restart of PostgreSQL takes about as long."""

_STATUS: Final[Sequence[tuple[type[DiscreetError], int]]] = (
    (MalformedRequestError, 400),
    (UnauthorisedError, 401),
    (AccessError, 403),
    (NotFoundError, 404),
    (KeyReusedError, 409),
    (StillWorkingError, 409),
    (ThreadBusyError, 409),
    (EntryExistsError, 409),
    (MessageIdReusedError, 409),
    (FeedbackLimitError, 409),
    (BodyTooLargeError, 413),
    (InputTooLargeError, 413),
    (MediaTypeError, 415),
    (RequestError, 422),
    (InputError, 422),
    (MemoryRefusedError, 422),
    (SettingRefusedError, 422),
    (InvalidFilterError, 422),
    (DelegationError, 422),
    (StorageError, 503),
    (ProviderError, 503),
)
"""The first class that fits decides. What fits none is a fault of ours, and the server's to answer."""

ANSWERED: Final[tuple[type[Exception], ...]] = (RequestValidationError, *(kind for kind, _ in _STATUS))
"""What `answer_to` has an answer to."""


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    field: str
    """Its name; `tags.3` is the fourth of `tags`."""
    problem: str
    """What is wrong, without what was sent."""


class Problem(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(json_schema_extra=describe_fields, json_schema_serialization_defaults_required=True)

    code: str
    """Stable: what a program may look at."""
    message: str
    """For people; its wording may change."""
    fields: list[FieldProblem] = []
    """The fields that are wrong, if it is that."""


class ErrorAnswer(BaseModel):
    """The body of every answer that is an error."""

    error: Problem


def answer_to(error: Exception) -> JSONResponse:
    """Return the answer to an error of a class in `ANSWERED`."""
    if isinstance(error, RequestValidationError):
        error = InvalidRequestError(list(dict.fromkeys(map(_said_of, error.errors()))))
    assert isinstance(error, DiscreetError)
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    fields = [FieldProblem(field=name, problem=problem) for name, problem in getattr(error, "fields", ())]
    problem = Problem(code=error.code, message=str(error), fields=fields)
    return JSONResponse(ErrorAnswer(error=problem).model_dump(), status_code=status, headers=_headers(error, status))


async def access_handler(_request: Request, error: Exception) -> JSONResponse:
    """Answer who may not call, for routes of the app that are none of `make_router`."""
    return answer_to(error)


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI is told of the errors that a route answers with."""
    return {status: {"model": ErrorAnswer, "description": _DESCRIPTIONS[status]} for status in statuses}


_DESCRIPTIONS: Final[Mapping[int, str]] = {
    400: "The request can't be read.",
    401: "Who calls is not known.",
    403: "It belongs to somebody else, or takes an administrator.",
    404: "There is nothing of that id, or it is not yours.",
    409: "It is there already or is full, the Idempotency-Key belongs to another request, or that one is still under way.",
    413: "The body is too large.",
    415: "The body isn't JSON.",
    422: "Some fields have values that can't be taken; nothing was stored.",
    503: "The database or a model can't be reached; ask again later.",
}


def _headers(error: DiscreetError, status: int) -> dict[str, str]:
    """Return what a client needs besides the body (RFC 9110, sections 10.2.3 and 11.6.1)."""
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, StillWorkingError | ThreadBusyError):
        return {"Retry-After": "1"}
    return {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}


def _said_of(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return the field that one of pydantic's errors is about, and what is wrong with it."""
    where = list(error["loc"])
    if error["type"] == "extra_forbidden":
        del where[-1]  # a name that the caller made up
    within, *names = where or ["body"]
    return ".".join(map(str, names)) or str(within), problem_of(error)
