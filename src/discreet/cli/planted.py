"""Look for planted values in the files of a database: heap, write-ahead log, server log."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Search:
    """What a search of a folder saw."""

    files: int = 0
    size: int = 0
    """Bytes read."""
    found: dict[str, set[str]] = field(default_factory=dict)
    """Names of the values that were found, with the files they stand in, relative to the folder."""


def search_folder(folder: Path, values: Mapping[str, str], encodings: Iterable[str] = ("utf-8", "utf-16-le")) -> Search:
    """Search every file below `folder` for `values` (name -> text) byte by byte.

    Raises:
        OSError: A file can't be read; a search that skips files proves nothing.
    """
    needles = {name: {text.encode(encoding) for encoding in encodings} for name, text in values.items()}
    result = Search()
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or not (size := path.stat().st_size):
            continue
        result.files += 1
        result.size += size
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for name, forms in needles.items():
                if any(data.find(form) >= 0 for form in forms):
                    result.found.setdefault(name, set()).add(str(path.relative_to(folder)))
    return result
