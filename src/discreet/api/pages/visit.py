"""One request to a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import Request

from discreet.api.pages.accepted_language import accepted_language
from discreet.api.pages.area import Area
from discreet.api.pages.errors import SignInError
from discreet.api.pages.sessions import PageSession


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What a page knows of the request that it answers."""

    request: Request
    area: Area
    session: PageSession
    form: Mapping[str, str] = field(default_factory=dict)
    """What was posted; empty for a GET."""

    @property
    def base(self) -> str:
        """Where the pages are, below what the server is mounted at."""
        return str(self.request.scope.get("root_path", "")) + self.area.prefix

    @property
    def identity(self) -> str:
        """What the database knows by whom the session is.

        Raises:
            SignInError: Nobody is signed in.
        """
        if self.session.identity is None:
            raise SignInError
        return self.session.identity

    @property
    def language(self) -> str:
        """Which of the languages of the pages the browser asks for."""
        return accepted_language(self.request.headers.get("accept-language", ""), self.area.languages)

    @property
    def secure(self) -> bool:
        """Whether the browser came by HTTPS, perhaps to a proxy."""
        forwarded = self.request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
        return "https" in (self.request.url.scheme, forwarded)

    def say(self, text: str) -> str:
        """Return an English text of a page in the visitor's language."""
        return self.area.translate(text, self.language)
