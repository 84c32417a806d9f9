"""The snippet of docs/my_memories.md, run as it stands there."""

from __future__ import annotations

from dataclasses import replace

from fastapi import FastAPI
from testkit.snippets import snippets


def test_the_snippet_gives_an_application_the_pages(services):
    (names,) = snippets("my_memories.md")
    app = names["with_my_memories"](FastAPI(), replace(services, storage=lambda: None))
    assert app.url_path_for("me GET /memories") == "/memory/me/memories"
