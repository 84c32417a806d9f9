"""Patterns that are compiled when they are first used: a text seldom needs those of all languages, and there are hundreds."""

from __future__ import annotations

import re
from typing import Any, cast


class LazyPattern:
    """Stands in for the pattern, and hands on its methods. Equal to the pattern, for who asks which one a match is of."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Compile it; from then on its methods are found without asking here."""
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "sub", "split"):
            setattr(self, method, getattr(compiled, method))
        self.compiled = compiled
        return getattr(compiled, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyPattern, self._source

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__dict__.get("compiled")

    def __hash__(self) -> int:
        return hash(self._source)


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what can be used as `re.compile(pattern, flags)`, and is compiled when it is used first."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))
