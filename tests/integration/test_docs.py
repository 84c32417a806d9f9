"""The snippets of docs/, run as they stand there."""

import re
from pathlib import Path

from discreet.checkpoint import KEEP, REDACT

DOCS = Path(__file__).resolve().parents[2] / "docs"


def snippets(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        names = {}
        exec(compile(code, page, "exec"), names)
        yield names


async def test_the_checkpointer_page(empty_database):
    graph, policy = snippets("checkpointer.md")
    said, answered = await graph["main"](empty_database)
    assert re.fullmatch(r"Hi, I am <EMAIL:[A-Z2-7]{8}>", said)
    assert answered == "Hello."
    assert policy["policy"].channels == {"locale": KEEP, "topic": REDACT}
