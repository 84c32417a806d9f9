"""The files that `langgraph dev` keeps its state in: a folder `.langgraph_api` of pickles, each read as a table of one row."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from discreet.errors import ScanError
from discreet.scanning.databases.base import Catalog, Column, Key, Row, Table
from discreet.scanning.profiles import Profile

FILES: Final = ("*.pckl", "*.pickle", "*.pkl")
_PROFILE: Final = Profile(label="pickle of langgraph dev", typed=("content",))
_CONTENT: Final = Column("content", "bytes")


class PickleFiles:
    """The `Database` over a folder of pickles, or one of them. They are read only, and never loaded."""

    def __init__(self, path: Path) -> None:
        """Look into `path`.

        Raises:
            ScanError: There are none.
        """
        self.name = path.name or str(path)
        found = [path] if path.is_file() else sorted(file for pattern in FILES for file in path.rglob(pattern))
        if not found:
            raise ScanError(f"{path} has no files of langgraph dev ({', '.join(FILES)}).")
        self._paths = {str(file.relative_to(path)) if path.is_dir() else file.name: file for file in found}

    def catalog(self, *, every: bool, only: Collection[str] = ()) -> Catalog:
        """Return its files, see `Database`."""
        return Catalog(
            [
                Table("", name, (_CONTENT,), (Column("file", "text"),), _PROFILE, file.stat().st_size, 1)
                for name, file in self._paths.items()
                if not only or name in only
            ]
        )

    def page(
        self,
        table: Table,
        after: Key | None,  # a file is one row
        *,
        sample: float = 1.0,
        thread: str | None = None,
    ) -> tuple[list[Row], Key | None]:
        """Return the only row of a file, see `Database`."""
        return [Row((table.name,), {}, {"content": table.bytes})], None

    def value(self, table: Table, key: Key, column: Column) -> str | bytes | None:
        """Return the content of a file."""
        try:
            return self._paths[table.name].read_bytes()
        except OSError as error:
            raise ScanError(f"{table.name} can't be read ({type(error).__name__}).") from None

    def close(self) -> None:
        """Nothing is open."""
