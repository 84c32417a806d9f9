"""What stands in a decoded value for an object of somebody's class: its name and its parts, never the object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Foreign:
    """An object that a serializer was told how to make: which class, and of what."""

    name: str
    """Module and class, with a period between them."""
    arg: Any
    """What it is made of: a value, a list of arguments, or a dict of fields."""
    code: int = 0
    """Of msgpack: which extension type it is."""
    rest: list[Any] = field(default_factory=list)
    """Of msgpack: what stands after `arg`, such as the name of the method that makes it."""

    @property
    def kind(self) -> str:
        """The name of the class alone."""
        return self.name.rpartition(".")[2]


@dataclass(slots=True)
class Opaque:
    """Bytes that nobody here can take apart."""

    data: bytes
    code: int | None = None
    """Of msgpack: the extension type."""


@dataclass(slots=True)
class Sealed:
    """Bytes that are encrypted."""

    data: bytes
