"""The client of Google's Gemini API, and what of it batches need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast

from discreet.providers.batches.lines import lines_file
from discreet.providers.retry import http_status

if TYPE_CHECKING:
    from io import IOBase

    import httpx2
    from google.genai import Client
    from google.genai.types import BatchJob, BatchJobSourceUnionDict, InlinedRequest, UploadFileConfigDict

_VERSION: Final = "v1beta"
"""The guide's; clients before 3.0 and since have different defaults."""

_ORIGIN: Final = "https://generativelanguage.googleapis.com"
_MILLISECONDS: Final = 600_000
"""Before a silent server is given up, as the other providers' clients do. This one would wait for ever."""

_BAD_REQUEST, _UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 400, 401, 403, 404


@dataclass(frozen=True)
class GoogleClient:
    """A client with its key. It is held as long as it is used: it closes its connections when it is collected."""

    genai: Client
    http: httpx2.AsyncClient
    """Its connections, of ours: the client itself can't read a body in pieces."""
    key: str
    origin: str

    @asynccontextmanager
    async def download(self, file: str) -> AsyncIterator[httpx2.Response]:
        """Open a file to read it in pieces. The client's own `download` gives all of it, or writes it somewhere."""
        from google.genai.errors import APIError  # takes three seconds to import

        url, headers = f"{self.origin}/{_VERSION}/{file}:download", {"x-goog-api-key": self.key}
        async with self.http.stream(
            "GET", url, params={"alt": "media"}, headers=headers, timeout=_MILLISECONDS / 1000
        ) as response:
            await APIError.raise_for_async_response(response)
            yield response

    async def aclose(self) -> None:
        """Close the connections."""
        self.genai.close()
        await self.genai.aio.aclose()
        await self.http.aclose()


def open_client(key: str, base_url: str | None) -> GoogleClient:
    """Return a client that makes no retries of its own."""
    import httpx2
    from google.genai import Client, types

    origin = (base_url or _ORIGIN).rstrip("/")
    http = httpx2.AsyncClient(follow_redirects=True)
    options = types.HttpOptions(base_url=origin, api_version=_VERSION, timeout=_MILLISECONDS, httpx_async_client=http)
    return GoogleClient(Client(api_key=key, vertexai=False, http_options=options), http, key, origin)


def lost_connections() -> tuple[type[Exception], ...]:
    """Return what is raised when a connection fails: uploads go through the client's own, which are httpx's before 3.0."""
    modules = [import_module(name) for name in ("httpx2", "httpx") if find_spec(name) is not None]
    return tuple(module.RequestError for module in modules)


def meant_status(error: Exception) -> int | None:
    """Return the HTTP status; for a bad key and something that isn't there, which come as 400 and 403, that of others."""
    status = http_status(error)
    details = getattr(error, "details", None)
    told = details.get("error", details).get("details") if isinstance(details, dict) else None
    reasons = {each.get("reason") for each in told or () if isinstance(each, dict)} - {None}
    if status == _BAD_REQUEST and "API_KEY_INVALID" in reasons:
        return _UNAUTHORISED
    # "You do not have permission to access the File … or it may not exist" gives none.
    return _NOT_FOUND if status == _FORBIDDEN and not reasons else status


async def upload(client: GoogleClient, *, lines: Sequence[Mapping[str, Any]], name: str) -> str:
    """Upload lines as a file and return its name there."""
    async with lines_file(lines) as file:
        config: UploadFileConfigDict = {"mime_type": "application/jsonl", "display_name": name}
        try:
            # In a thread: the asynchronous one sleeps without letting others run (`time.sleep`) after a failure.
            uploaded = await asyncio.to_thread(client.genai.files.upload, file=cast("IOBase", file), config=config)
        except (KeyError, ValueError) as error:  # what the client makes of an answer without the protocol's headers
            raise ConnectionError("broken off") from error
    if uploaded.name is None:
        raise ConnectionError("no name")
    return uploaded.name


async def create(client: GoogleClient, *, model: str, source: str | list[InlinedRequest], name: str) -> BatchJob:
    """Make a batch."""
    return await client.genai.aio.batches.create(
        model=model, src=cast("BatchJobSourceUnionDict", source), config={"display_name": name}
    )


def inlined(line: Mapping[str, Any]) -> InlinedRequest:
    """Return a line as the client takes it; it makes the same JSON of it."""
    from google.genai import types

    sent = line["request"]
    config = {**sent["generationConfig"], "systemInstruction": sent["systemInstruction"]}
    return types.InlinedRequest(
        contents=sent["contents"],
        metadata={"key": line["key"]},
        config=types.GenerateContentConfig.model_validate(config),
    )
