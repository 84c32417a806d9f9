"""`discreet serve` without what it needs."""

from __future__ import annotations

import sys

import pytest

from discreet.cli.serve import run_serve
from discreet.errors import MissingDependencyError


def test_without_uvicorn_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(sys.modules[run_serve.__module__], "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"discreet\[serve\]"):
        run_serve(host="127.0.0.1", port=8080, workers=1)
