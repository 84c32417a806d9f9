"""Pages of lists, newest or oldest first: what a request asks for, and where the next one begins."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Request, Response
from pydantic import BaseModel, Field

from discreet.api.cursors import cursor_of, mark_of
from discreet.state.records import PageMark

PAGE = 50
MAX_PAGE = 200

LINKED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"headers": {"Link": {"description": "The next page, as rel=next.", "schema": {"type": "string"}}}}
}
"""What OpenAPI is told of an answer that is a page."""


class Paging(BaseModel):
    """Which page."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = PAGE
    cursor: Annotated[str | None, Field(max_length=100, description="`next` of the page before.")] = None

    @property
    def mark(self) -> PageMark | None:
        """Where it begins: after this; None: at the beginning.

        Raises:
            InvalidRequestError: The cursor is none of ours.
        """
        return None if self.cursor is None else mark_of(self.cursor)


def follow(request: Request, response: Response, mark: PageMark | None) -> str | None:
    """Return the cursor of the page after `mark`, and name its address in the Link header; None: there is no other page."""
    if mark is None:
        return None
    following = cursor_of(mark)
    url = request.url.include_query_params(cursor=following)
    response.headers["Link"] = f'<?{url.query}>; rel="next"'
    return following
