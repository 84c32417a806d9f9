"""Walk through a site of pages, and plant a value in every field of every form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

VARIABLE = re.compile(r"/(?:[0-9a-f]{8}-[0-9a-f-]{27}|u_[a-z]+)|\?.*")
"""Keys and opaque identities; and what follows a path."""
LAST = ("delete", "erase", "accept", "refuse", "logout")
"""What takes away what other forms are about."""
KEPT = frozenset({"form_token"})
"""Without its own value a form is refused unread."""


@dataclass
class Form:
    """A form as a browser sends it."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """Of all its fields, those that would not be sent too."""


class Page(HTMLParser):
    """Links and forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[Form] = []
        self._inside = {"textarea": "", "select": ""}
        """Names of the fields that the parser is in."""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what can be followed or filled in."""
        found = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.links.append(found.get("href", ""))
        elif tag == "form":
            self.forms.append(Form(found.get("action", "")))
        elif self.forms and tag == "button" and "formaction" in found:
            self.forms.append(Form(found["formaction"], dict(self.forms[-1].fields)))
        elif self.forms and tag in {"input", "select", "textarea"} and found.get("name"):
            self._note(tag, found)
        elif tag == "option" and (name := self._inside["select"]):
            fields = self.forms[-1].fields
            fields[name] = found.get("value", "") if "selected" in found or name not in fields else fields[name]

    def handle_data(self, data: str) -> None:
        """Note what a text field holds."""
        if name := self._inside["textarea"]:
            self.forms[-1].fields[name] = self.forms[-1].fields.get(name, "") + data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        """Leave a field."""
        if tag in self._inside:
            self._inside[tag] = ""

    def _note(self, tag: str, found: dict[str, str]) -> None:
        form, name = self.forms[-1], found["name"]
        form.names.add(name)
        if tag in self._inside:
            self._inside[tag] = name
        elif found.get("type") not in {"checkbox", "radio"} or "checked" in found:
            form.fields[name] = found.get("value", "")


@dataclass
class Walk:
    """A walk through the pages of a signed-in administrator."""

    client: httpx.AsyncClient
    plant: Callable[[str, str], str]
    note: Callable[[str, str, httpx.Response], None]
    """Hears the kind of an answer, `live` or `later`, what it answers, and the answer."""
    prefix: str
    seen: set[str] = field(default_factory=set)
    """Pages, without ids."""
    sent: set[tuple[str, str]] = field(default_factory=set)
    """Forms and their fields."""
    typed: dict[str, str] = field(default_factory=dict)
    """What is filled in by name where a form leads to something with it only."""

    async def through(self, start: str) -> None:
        """Look at all pages that lead from `start`, and send all forms on them, those that take things away last."""
        pages, late = [start], list[Form]()
        while pages or late:
            if not pages:
                pages += await self._fill_in(late.pop(0))
                continue
            path = pages.pop(0)
            if route_of(path) in self.seen:
                continue
            self.seen.add(route_of(path))
            response = await self.client.get(path, follow_redirects=True)
            self.note("later", f"GET {route_of(path)}", response)
            if "text/html" not in response.headers.get("content-type", ""):
                continue
            page = Page(response.text)
            pages += self._inside(path, page.links)
            for form in page.forms:
                form.action = urljoin(path, form.action)
                if any(word in form.action for word in LAST):
                    late.append(form)
                else:
                    pages += await self._fill_in(form)
            late.sort(key=lambda form: max((LAST.index(word) for word in LAST if word in form.action), default=-1))

    async def _fill_in(self, form: Form) -> list[str]:
        """Send a form once with a value in each of its fields, and once as it is; return where that leads."""
        route = route_of(form.action)
        for name in sorted(form.names - KEPT):
            if (route, name) not in self.sent:
                self.sent.add((route, name))
                typed = {**form.fields, name: self.plant(f"field {name}", f"POST {route}")}
                self.note("live", f"POST {route}", await self._send(form, typed))
        if (route, "") in self.sent:
            return []
        self.sent.add((route, ""))
        response = await self._send(
            form, {**form.fields, **{name: self.typed[name] for name in form.names & self.typed.keys()}}
        )
        self.note("live", f"POST {route}", response)
        return list(self._inside(form.action, [str(response.url.path), *Page(response.text).links]))

    async def _send(self, form: Form, typed: dict[str, Any]) -> httpx.Response:
        return await self.client.post(form.action, data=typed, follow_redirects=True)

    def _inside(self, base: str, links: Iterable[str]) -> Iterator[str]:
        for link in links:
            target = urlsplit(urljoin(base, link))
            if target.path.startswith(self.prefix) and not target.netloc:
                yield target.path + (f"?{target.query}" if target.query else "")


def route_of(path: str) -> str:
    """Return a path without its query, and with `…` for ids."""
    return VARIABLE.sub(lambda found: "" if found[0].startswith("?") else "/…", path)
