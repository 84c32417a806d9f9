import doctest
import importlib
import re
from pathlib import Path

import pytest
from fastapi import FastAPI


@pytest.mark.parametrize(
    "module",
    [
        "admin.figures",
        "admin.job_figures",
        "admin.recall",
        "pages.accepted_language",
        "pages.language",
        "pages.placeholders",
    ],
)
def test_the_examples_in_the_docstrings_hold(module):
    outcome = doctest.testmod(importlib.import_module(f"discreet.api.{module}"))
    assert outcome.attempted
    assert not outcome.failed


def test_the_snippet_of_the_docs_gives_an_application_the_pages(world):
    page = Path(__file__).resolve().parents[4] / "docs" / "admin.md"
    (code,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(code, page, "exec"), names)
    app = names["with_admin_page"](FastAPI(), world.services)
    assert app.url_path_for("admin GET /settings") == "/memory/admin/settings"
