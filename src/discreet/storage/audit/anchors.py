"""Keep seals outside of the database: in a file, or at an address of your own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from discreet.access.loopback import is_loopback_name
from discreet.errors import AuditAnchorError, ConfigurationError
from discreet.storage.audit.sealing import Anchor, Seal

TIMEOUT_SECONDS = 10.0


def anchored(seal: Seal) -> dict[str, Any]:
    """Return what an anchor keeps of a seal."""
    return {
        "seal": seal.number,
        "at": seal.at.astimezone(UTC).isoformat(),
        "heads": seal.heads,
        "hash": seal.hash.hex(),
    }


def file_anchor(path: Path) -> Anchor:
    """Return what adds a line of JSON to the file, which is made if there is none and its folder is there."""

    async def keep(seal: Seal) -> None:
        try:
            await asyncio.to_thread(_add_line, path, json.dumps(anchored(seal)))
        except OSError as error:
            raise AuditAnchorError(
                f"{path} can't be added to ({type(error).__name__}). Anchor to a file that this process may write to."
            ) from error

    return keep


def url_anchor(url: str) -> Anchor:
    """Return what posts the seal as JSON; any answer of the 200s will do. Redirects are not followed.

    Raises:
        ConfigurationError: It is no https address. On this machine http will do.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_name(parts.hostname)):
        raise ConfigurationError(
            "The address of an anchor must begin with https://: who can change it can hide what went."
        )

    async def keep(seal: Seal) -> None:
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
                answer = await client.post(url, json=anchored(seal))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AuditAnchorError(
                f"The address of the anchor can't be reached ({type(error).__name__}). The next seal goes there too."
            ) from error
        if not answer.is_success:
            raise AuditAnchorError(
                f"The address of the anchor answers with {answer.status_code}. It must take a POST of JSON."
            )

    return keep


def read_anchors(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number and hash of each seal that a file of anchors tells of, its lines one after the other.

    Raises:
        AuditAnchorError: It can't be read, or a line is something else.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for place, line in enumerate(lines, start=1):
                if line.strip():
                    yield _read(line, place)
    except (OSError, UnicodeDecodeError) as error:
        raise AuditAnchorError(f"{path} can't be read ({type(error).__name__}).") from error


def _add_line(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(descriptor)


def _read(line: str, place: int) -> tuple[int, bytes]:
    try:
        found = json.loads(line)
        return int(found["seal"]), bytes.fromhex(found["hash"])
    except (ValueError, KeyError, TypeError) as error:
        raise AuditAnchorError(
            f"Line {place} is no anchor as `discreet audit anchor` writes them ({type(error).__name__})."
        ) from None
