"""What settings name as `module:attribute`."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from discreet.errors import ConfigurationError


def named_object(setting: str, name: str, *, kind: str = "attribute") -> Any:
    """Return what `setting` names, which is to be a `kind` of a module.

    Raises:
        ConfigurationError: It can't be imported.
    """
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"{setting} names {name!r}, which can't be imported. Write module:{kind}.") from error


def named_function(setting: str, name: str) -> Callable[[], Any]:
    """Return the function without arguments that `setting` names.

    Raises:
        ConfigurationError: It can't be imported or called.
    """
    found = named_object(setting, name, kind="function")
    if not callable(found):
        raise ConfigurationError(f"{setting} names {name!r}, which can't be called. Write module:function.")
    return found  # type: ignore[no-any-return]  # what it takes and returns shows when it is called
