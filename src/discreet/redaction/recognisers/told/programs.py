"""Tell a line of a program or of a log, where words for secrets name variables, from what somebody says."""

from __future__ import annotations

import re

MOST_CHARS = 200

PROGRAM = re.compile(
    r"[{};]\s*$"
    r"|^\s*(?:def \w+\(|class \w+[:({]|import [\w.]+\s*$|from [\w.]+ import|return\b.*[;()]|(?:const|let|var"
    r"|final|public|private|static|async|await)\s+\w+|func \w+|if\s*[(!]"
    r"|if (?:not )?\w+(?:\.\w+)*\s*[=<>!:]|for \w+ in |while\s*\(|export (?:default|const|[A-Z_]+=)|assert |//"
    r"|#!|\$ |>>> |SELECT |INSERT |UPDATE |CREATE |ALTER )"
    r"|[A-Za-z_]\w*\([^)\s]|\w\.\w+\(|\w\(\)|[=!]=|=>|::|</|\$\{|\{\{|%\(|\[[\"']|[\"']\]|\|\||&&|\$\{?[A-Za-z_]{3,}|\bread -[a-z]+ |printf '"
)
LOG = re.compile(
    r"(?:GET|POST|PUT|DELETE|HEAD|PATCH) /|[0-9]{2}:[0-9]{2}:[0-9]{2}|[A-Za-z](?:Error|Exception):|Traceback|^\s*at [\w.$]+\("
)


RAISED = re.compile(r"\w*(?:Error|Exception|Warning|Failure)\([\"']")
"""How an exception is written that quotes what somebody said."""
SETTING = re.compile(r":(?=[ \n]|\Z)")
"""Behind a key that is indented, in YAML."""


def is_program(text: str, start: int, end: int) -> bool:
    """Tell whether what stands around a word on its line is a program, or the word the key of a line of settings."""
    first = text.rfind("\n", max(0, start - MOST_CHARS), start) + 1
    if SETTING.match(text, end) and text[first:start].isspace():
        return True
    return PROGRAM.search(RAISED.sub("", line_around(text, start, end))) is not None


TEMPLATE = re.compile(r"\{\{|\$\{|<%")


def is_template(text: str, start: int, end: int) -> bool:
    """Tell whether a word stands on a line of a template."""
    return TEMPLATE.search(line_around(text, start, end)) is not None


def is_log(text: str, start: int, end: int) -> bool:
    """Tell whether a word stands on a line of a log."""
    return LOG.search(line_around(text, start, end)) is not None


def line_around(text: str, start: int, end: int) -> str:
    """Return the line that a word stands in, without the word."""
    before = text[text.rfind("\n", max(0, start - MOST_CHARS), start) + 1 : start][-MOST_CHARS:]
    return before + text[end : end + MOST_CHARS].partition("\n")[0]
