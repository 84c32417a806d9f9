"""What pages and examples import is among the public names of the reference."""

import ast
import re

from testkit.snippets import BLOCK, DOCS, ROOT

from discreet.settings import Settings

LISTED = re.compile(r"^\.\. auto(\w+):: ([\w.]+)", re.MULTILINE)
WIRED = ("discreet.api.aegra", "discreet.graph.server")
"""What servers are wired with: docs/open_source_server.md and docs/server.md tell of it."""


def imported(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
            yield from ((node.module, alias.name) for alias in node.names)


def test_every_name_that_the_pages_import_is_in_the_reference():
    pages = [*DOCS.rglob("*.md"), ROOT / "README.md"]
    blocks = [code for page in pages for _, code in BLOCK.findall(page.read_text(encoding="utf-8"))]
    examples = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.py")]
    listed = LISTED.findall("".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")))
    names = {name for _, name in listed}
    modules = ("discreet.errors", *(name for kind, name in listed if kind == "module"))
    missing = {
        f"{module}.{name}"
        for code in (*blocks, *examples)
        for module, name in imported(code)
        if f"{module}.{name}" not in names and not module.startswith((*modules, *WIRED))
    }
    assert missing == set()


def test_every_setting_is_in_the_table():
    text = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)
    aliases = {name: field.validation_alias for name, field in Settings.model_fields.items()}
    settings = {alias.choices[:2][-1] if alias else f"DISCREET_{name}".upper() for name, alias in aliases.items()}
    assert sorted(names) == sorted(settings)
