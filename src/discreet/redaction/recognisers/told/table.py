"""Passwords in what people paste: tables with a column of them, and what the code on a router says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.names import SECRETS
from discreet.redaction.recognisers.told.values import looks_random, names_a_value
from discreet.redaction.words import whole, words

MOST_HEADER_CHARS = 200
MOST_CELLS = 20


class TableRecogniser:
    """Finds cells below "password" in a table of bars, commas, semicolons or tabs, and `P:` of a network.

    The latter are written as in https://github.com/zxing/zxing/wiki/Barcode-Contents.
    """

    type = "SECRET"
    NETWORK = lazy(
        r"WIFI:(?:[TSHEAI]:[^;\r\n\0]{0,64};){0,5}P:\"?(?P<value>(?:[^;\\\"\r\n\0]|\\.){4,128})", re.IGNORECASE
    )
    SIGN = lazy(r"[|,;\t]|-{3,8}")
    HEADING = lazy(rf"(?:[\w-]{{1,20}}[ _])?{whole(words('secret', 'password', 'weak'))}", re.IGNORECASE)
    ACCOUNT = lazy(
        rf"(?:[\w-]{{1,20}}[ _])?(?:{whole(words('secret', 'user'))}|user_?id|acc|site|service|url|device|почта|сайт|網站|网站|用户|nombre|nome|naam)",
        re.IGNORECASE,
    )
    RULE = lazy(r"[ |:+=-]{3,200}")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such passwords."""
        text = view.text
        if "wifi:" in view.lowered:
            for match in self.NETWORK.finditer(text):
                yield match.span("value")
        if "values" in view.lowered and "insert" in view.lowered:
            yield from self.inserted(text)
        if "\n" in text and self.SIGN.search(text) and SECRETS.places(view):
            yield from self.cells(text)

    INSERT = lazy(
        r"INSERT INTO [\w.`\"\[\]]{1,80} ?\((?P<columns>[^()\0]{3,400})\)\s{1,4}VALUES\s{0,4}(?P<rows>(?:\((?:[^()'\0]"
        r"|'[^'\0]{0,200}'){1,600}\)[\s,]{0,4}){1,50})",
        re.IGNORECASE,
    )
    ROW = lazy(r"\((?P<cells>(?:[^()'\0]|'[^'\0]{0,200}'){1,600})\)")
    CELL = lazy(r"[ ]?N?'(?P<text>[^'\0]{0,200})'|(?P<other>[^,'\0]{1,200})")
    PART_OF_NAME = lazy(
        r"(?<![a-z])(?:pass|passwd|password|pwd|psw|secret|token|contrasena|clave|senha|mat_?khau|parol|haslo|sifre)(?![a-z])",
        re.IGNORECASE,
    )

    def inserted(self, text: str) -> Iterator[Span]:
        """Return the spans of what SQL inserts into columns of passwords."""
        for insert in self.INSERT.finditer(text):
            names = insert["columns"].split(",")
            wanted = {place for place, name in enumerate(names) if self.PART_OF_NAME.search(name)}
            for row in self.ROW.finditer(text, *insert.span("rows")) if wanted else ():
                cells = list(self.CELL.finditer(text, *row.span("cells")))
                yield from (
                    cell.span("text")
                    for place, cell in enumerate(cells)
                    if place in wanted and cell["text"] and len(cells) == len(names) and names_a_value(cell["text"])
                )

    def carried(self, text: str) -> str:
        """Return the heading of the table that goes on where `text` ends, for who reads on without it."""
        table: list[str] = []
        for _ in self.cells(text, table):
            pass
        return "".join(table)

    def cells(self, text: str, table: list[str] | None = None) -> Iterator[Span]:
        """Return the spans of the cells below headings. `table` is left with the heading that holds at the end."""
        sign, column, many, place = "", 0, 0, 0
        table = [] if table is None else table
        for line in text.splitlines(keepends=True):
            start, place = place, place + len(line)
            if heading := self.heading(line):
                sign, column, many = heading
                table[:] = [line]
                continue
            if not sign or self.RULE.fullmatch(line.rstrip()):
                continue
            cells = line.split(sign, MOST_CELLS)
            if len(cells) != many:
                sign = ""
                table.clear()
                continue
            value = cells[column].strip(" \t\r\n\"'`")
            # no password has three characters
            if len(value) > 3 and " " not in value and names_a_value(value) and self.is_told(value):
                first = start + sum(map(len, cells[:column])) + column * len(sign) + cells[column].index(value)
                yield first, first + len(value)

    def heading(self, line: str) -> tuple[str, int, int] | None:
        """Return the sign between cells, the place of the passwords among them, and how many there are."""
        if len(line) > MOST_HEADER_CHARS or (sign := self.SIGN.search(line)) is None:
            return None
        cells = line.split(sign[0], MOST_CELLS)
        names = [cell.strip(" \t\r\n\"'`") for cell in cells]
        columns = [place for place, name in enumerate(names) if self.HEADING.fullmatch(name)]
        if len(columns) != 1 or not any(map(self.ACCOUNT.fullmatch, names)):
            return None
        return sign[0], columns[0], len(cells)

    def is_told(self, value: str) -> bool:
        """Tell a password from the type of a column."""
        return looks_random(value) or (value.isascii() and value.islower() and value.isalpha())
