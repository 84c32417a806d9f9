"""`discreet redact`: text in, text with placeholders out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import SecretStr

from discreet.cli.piped import quiet_pipe, sources, write
from discreet.redaction import Redactor, StreamingRedactor
from discreet.redaction.configured import redactor_from
from discreet.redaction.placeholder_key import make_placeholder_key
from discreet.settings import load_settings

WHOLE_CHARS = 50_000
"""A text up to here is redacted whole, a longer one as a stream."""

CHUNK_CHARS = 4_096


def streamed(pieces: Iterable[str], redactor: Redactor) -> Iterator[str]:
    """Yield the text that comes in `pieces`, redacted: all at once if it is short."""
    held = ""
    remaining = iter(pieces)
    for piece in remaining:
        held += piece
        if len(held) > WHOLE_CHARS:
            break
    else:
        yield redactor.redact(held)
        return
    stream = StreamingRedactor(redactor)
    yield from _fed(stream, held)
    for piece in remaining:
        yield from _fed(stream, piece)
    yield stream.close()


def configured() -> Redactor:
    """Return the redactor of the settings. Nothing is tagged here, so no key is looked for, nor made in the data folder.

    Raises:
        ConfigurationError: A setting can't be used.
    """
    unused = SecretStr(make_placeholder_key())
    return redactor_from(load_settings().model_copy(update={"placeholder_key": unused}))


def run_redact(files: Sequence[str]) -> None:
    """Print the files, or standard input, redacted. Each is a text of its own.

    Raises:
        InputError: A file can't be read or is not UTF-8. Files before it, and of a long text what was settled, are printed.
    """
    redactor = configured()
    with quiet_pipe():
        for source in sources(files):
            for text in streamed(source.text(), redactor):
                write(text)


def _fed(stream: StreamingRedactor, text: str) -> Iterator[str]:
    for start in range(0, len(text), CHUNK_CHARS):
        yield stream.feed(text[start : start + CHUNK_CHARS])
