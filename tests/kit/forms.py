"""What a text may look like on a disk or on the wire; not so Base64 that is broken into lines."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
QUOTED: Final = re.compile("%[0-9A-F]{2}")


def forms(text: str) -> Iterator[tuple[str, bytes]]:
    """Yield each form that `text` may be found in, with its name. The first is the text itself; some may be the same."""
    data = text.encode()
    yield "text", data
    yield "NFD", unicodedata.normalize("NFD", text).encode()
    # Without the byte that Latin letters have at one end alone, so that both byte orders of these have one form.
    yield "UTF-16, little-endian", text.encode("utf-16-le")[:-1]
    yield "UTF-16, big-endian", text.encode("utf-16-be")[1:]
    yield "hex", data.hex().encode()
    yield "hex in capitals", data.hex().upper().encode()
    for offset in range(3):
        yield f"base64, offset {offset}", (encoded := _base64(data, offset))
        yield f"base64url, offset {offset}", encoded.translate(URL_SAFE)
    yield "JSON", (in_json := json.dumps(text)[1:-1]).encode()
    yield "JSON in JSON", json.dumps(in_json)[1:-1].encode()
    yield "bytes as Python shows them", repr(data)[2:-1].encode()
    yield "bytes as PostgreSQL escapes them", _octal(data).encode()
    yield "escapes of a table's rows", data.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\t", b"\\t")
    yield "pickle of protocol 2", data.decode("latin-1").encode()  # where bytes are text
    yield "quoted", quote(text, safe="").encode()
    yield "quoted in small letters", QUOTED.sub(lambda match: match[0].lower(), quote(text, safe="")).encode()
    yield "quoted twice", quote(quote(text, safe=""), safe="").encode()
    yield "quoted in full", "".join(f"%{byte:02X}" for byte in data).encode()
    yield "quoted in a query", quote_plus(text).encode()
    yield "without spaces", text.replace(" ", "").encode()


def needles(text: str) -> dict[bytes, str]:
    """Return the name of each form by its bytes, without those that are the same."""
    found: dict[bytes, str] = {}
    for name, data in forms(text):
        found.setdefault(data, name)
    return found


def _octal(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in data)


def _base64(data: bytes, offset: int) -> bytes:
    """Return the characters that stand for `data` alone, `offset` bytes after a multiple of three."""
    text = base64.b64encode(bytes(offset) + data)
    return text[(offset * 8 + 5) // 6 : (offset + len(data)) * 8 // 6]
