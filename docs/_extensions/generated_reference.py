"""Directives that write reference pages from the code: `cli-reference` and `rest-reference`.

What they write is Markdown, parsed where the directive stands, so that its headings are on the page's table of contents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from discreet.cli import app as command_line

OPENAPI = Path(__file__).resolve().parents[2] / "src" / "discreet" / "api" / "openapi.json"


class Generated(SphinxDirective):
    """A directive whose content is the Markdown of `lines`."""

    def lines(self) -> Iterator[str]:
        """Yield Markdown, line by line."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse what was written."""
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)


class CommandLineReference(Generated):
    """Every command, with its arguments and options."""

    def lines(self) -> Iterator[str]:
        """Yield a section for each command that does something."""
        command = get_command(command_line)
        yield from _commands(command, "discreet", command.make_context("discreet", [], resilient_parsing=True))


class RestReference(Generated):
    """Every operation of the REST API, as its OpenAPI document tells it."""

    def lines(self) -> Iterator[str]:
        """Yield a section for each group of routes, with one for each operation in it."""
        document = json.loads(OPENAPI.read_text(encoding="utf-8"))
        group = None
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                tag = operation["tags"][0] if operation.get("tags") else "other"
                if tag != group:
                    group = tag
                    yield from (f"## {tag.capitalize()}", "")
                yield from (f"### `{method.upper()} {path}`", "", f"{operation['summary']}.", "")
                yield from (operation.get("description", ""), "")
                yield from _parameters(operation, document)
                answers = [f"{code} {each['description']}" for code, each in operation["responses"].items()]
                yield from (f"Answers: {'; '.join(answers)}.", "")


def _commands(command: Any, name: str, context: Any) -> Iterator[str]:
    for word, each in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(each, f"{name} {word}", context)
    if hasattr(command, "commands"):
        return
    yield from (f"## {name}", "", _one_line(command.help or ""), "")
    rows = [(_written(each, context), _one_line(each.help or "")) for each in command.params if not each.hidden]
    yield from _table(("argument or option", "what it is"), rows)


def _written(parameter: Any, context: Any) -> str:
    """Return how an argument or an option is written on a command line."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    options = ", ".join((*parameter.opts, *parameter.secondary_opts))
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.display_type(context)}"
    return f"`{options}{value}`"


def _parameters(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    given = [
        (f"`{each['name']}`", each["in"], _type(each["schema"], document), each)
        for each in operation.get("parameters", [])
    ]
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(body["schema"], document)
        needed = schema.get("required", ())
        given += [
            (
                f"`{name}`",
                "body" if media == "application/json" else media,
                _type(field, document),
                {**field, "required": name in needed},
            )
            for name, field in schema.get("properties", {}).items()
        ]
    rows = [
        (name, place, kind, ("Required. " if each.get("required") else "") + _one_line(each.get("description", "")))
        for name, place, kind, each in given
    ]
    yield from _table(("name", "in", "type", "what it is"), rows)


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    return document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]


def _type(schema: dict[str, Any], document: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each, document) for each in schema["anyOf"]))
    schema = _resolved(schema, document)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), document)}"
    return schema.get("format", schema.get("type", "anything"))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield f"| {' | '.join(head)} |"
        yield f"|{'---|' * len(head)}"
        for row in rows:
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        yield ""


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("<", "&lt;")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("cli-reference", CommandLineReference)
    app.add_directive("rest-reference", RestReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
