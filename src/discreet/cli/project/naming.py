"""Names of a project and of its package, made of the name of its folder."""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

SUFFIX = "app"
"""Behind a name that something else has."""

TAKEN = frozenset({"tests", "build", "dist"})
"""Folders of a project."""


class ProjectName(NamedTuple):
    """What a project is called."""

    project: str
    """In pyproject.toml and on the server: words with hyphens between them."""
    package: str
    """What Python imports."""


def project_name(folder: str) -> ProjectName:
    """Return the names of a project in a folder of this name: its ASCII letters and digits, as package indexes take them (PEP 508).

    No package that is installed here has the same one.

    Example:
        >>> project_name("Trợ lý 2"), project_name("test")
        (ProjectName(project='tro-ly-2', package='tro_ly_2'), ProjectName(project='test-app', package='test_app'))
    """
    plain = unicodedata.normalize("NFKD", folder.casefold().replace("đ", "d")).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain) or ["assistant"]
    if words[0][0].isdigit() or words == ["assistant"]:
        words = ["my", *words]
    if _is_taken("_".join(words)):
        words.append(SUFFIX)
    return ProjectName("-".join(words), "_".join(words))


def _is_taken(package: str) -> bool:
    """Tell whether a package of this name could not be imported, or would hide another one."""
    if package in TAKEN or keyword.iskeyword(package) or package in sys.stdlib_module_names:
        return True
    found = find_spec(package)
    if found is None:
        return False
    # With "." on the path a folder of that name here is found too, and is no package of anybody's.
    return found.origin is not None or any(
        Path(place).absolute().parent != Path.cwd() for place in found.submodule_search_locations or ()
    )
