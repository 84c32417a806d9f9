"""Names of a package that are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def loaded_on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a package's `__getattr__` (PEP 562), which imports each of its names from the module of it that has it.

    Example:
        >>> get = loaded_on_demand("collections", {"Mapping": "abc"})
        >>> get("Mapping").__name__
        'Mapping'
    """

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return get
