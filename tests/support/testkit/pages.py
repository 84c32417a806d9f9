"""The admin page without a server: who may come in, and a browser without a window."""

from __future__ import annotations

import html
import re
import secrets

import httpx

from discreet.access.caller import Caller
from discreet.errors import UnauthorisedError

ORIGIN = "http://admin.test"


class Gate:
    """Knows two tokens and a key, all made at run time."""

    def __init__(self):
        self.boss, self.clerk, self.key = (secrets.token_urlsafe(24) for _ in range(3))

    async def caller(self, headers, client_host):
        known = {f"Bearer {self.boss}": ("boss", True), f"Bearer {self.clerk}": ("clerk", False)}
        found = known.get(headers.get("authorization"))
        if headers.get("x-api-key") == self.key:
            found = ("program", True)
        if found is None:
            raise UnauthorisedError
        return Caller(subject=found[0], identity=self.identity(found[0]), admin=found[1])

    def identity(self, subject):
        return "u-" + subject.encode().hex()


class Web:
    """A browser without a window: keeps cookies, sends the origin, and fills in forms."""

    def __init__(self, app, *, base_url=ORIGIN, world=None):
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url=base_url, headers={"origin": base_url}
        )
        self.page = None
        self.world = world

    async def get(self, path, **options):
        self.page = await self.http.get(path, follow_redirects=True, **options)
        return self.page

    @property
    def text(self):
        return self.page.text

    @property
    def words(self):
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.page.text)).split())

    def fields(self):
        """Return what a browser would send back of the form on the page."""
        found = {}
        for tag in re.findall(r"<input\b[^>]*>", self.text, re.DOTALL):
            if (name := re.search(r'\bname="([^"]*)"', tag)) and ('type="checkbox"' not in tag or " checked" in tag):
                value = re.search(r'\bvalue="([^"]*)"', tag)
                found[name[1]] = html.unescape(value[1]) if value else ""
        for name, inner in re.findall(
            r'<textarea\b[^>]*\bname="([^"]*)"[^>]*>\n?(.*?)</textarea>', self.text, re.DOTALL
        ):
            found[name] = html.unescape(inner)
        for name, inner in re.findall(r'<select\b[^>]*\bname="([^"]*)"[^>]*>(.*?)</select>', self.text, re.DOTALL):
            chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', inner)
            first = re.search(r'<option(?: value="([^"]*)")?>([^<]*)', inner)
            option = chosen or first
            found[name] = option[2] if option[1] is None else option[1]
        return found

    async def post(self, path, fields, **options):
        self.page = await self.http.post(path, data=fields, follow_redirects=True, **options)
        return self.page

    async def send(self, **typed):
        """Send the last form on the page, with what was typed into it."""
        action = re.findall(r'<form\b[^>]*\baction="([^"]*)"', self.text)[-1]
        fields = self.fields() | {name.replace("__", "."): value for name, value in typed.items()}
        return await self.post(
            html.unescape(action), {name: value for name, value in fields.items() if value is not None}
        )

    async def sign_in(self, credential, area="/memory/admin"):
        await self.get(f"{area}/login")
        return await self.send(credential=credential)
