"""Mutations of Python source, made by rule: what a programmer gets wrong, one at a time.

A mutation replaces a piece of text and leaves the rest of the file as it is. What changes nothing that a caller sees is
left out: docstrings, annotations, `if TYPE_CHECKING`, `__all__`, decorators, asserts, logging, the texts of errors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_COUNTED = 16
"""Integers up to this one are counts and places; of larger ones, which are limits, nobody notices one more."""
COMPARED = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log", "warn"})
TYPE_CHECKS = frozenset({"isinstance", "issubclass", "cast", "getattr", "hasattr", "setattr", "partial"})
"""Their arguments can't be swapped by mistake: the first call would fail."""
SQL = re.compile(r"\b(?:SELECT|UPDATE|DELETE FROM|INSERT INTO)\b[\s\S]*\b(?:WHERE|ON)\b")
SQL_AND = re.compile(r"\s+AND\s+")
SQL_ENDS = re.compile(r"\s+(?:AND|OR)\s|\n|\s(?:FROM|ORDER BY|GROUP BY|RETURNING|LIMIT|FOR|UNION)\b|[\";]")


@dataclass(frozen=True)
class Mutation:
    """A piece of a file and what to put in its place. `start` and `end` count bytes of UTF-8."""

    kind: str
    start: int
    end: int
    put: str
    line: int
    scope: str
    """Where it is: the qualified name of a function, or the name that a statement of the module or a class assigns."""
    in_function: bool

    def applied_to(self, source: bytes) -> bytes:
        """Return `source` with it."""
        return source[: self.start] + self.put.encode() + source[self.end :]


def mutations_of(source: bytes) -> list[Mutation]:
    """Return every mutation of a file by rule, in the order of the text. Whoever plays one asks `compiles` before."""
    found = _Finder(source)
    found.visit(ast.parse(source))
    return sorted(set(found.made), key=lambda each: (each.start, each.end, each.kind))


def compiles(source: bytes) -> bool:
    """Tell whether Python takes `source`."""
    try:
        compile(source, "<mutated>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes) -> None:
        self.made: list[Mutation] = []
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._names: list[str] = []
        self._functions = 0
        self._assigned = ""

    # Places

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _make(self, kind: str, start: int, end: int, put: str) -> None:
        line = self._source.count(b"\n", 0, start) + 1
        in_function = self._functions > 0
        scope = ".".join(self._names) if in_function else self._assigned
        self.made.append(Mutation(kind, start, end, put, line, scope, in_function))

    def _replace(self, kind: str, node: ast.expr | ast.stmt, put: str) -> None:
        self._make(kind, self._start(node), self._end(node), put)

    def _between(self, kind: str, first: ast.expr, second: ast.expr, taken: str, put: str) -> None:
        """Replace a sign that stands between two expressions, where parentheses and line breaks may stand, too."""
        start, gap = self._end(first), self._source[self._end(first) : self._start(second)].decode()
        match = re.search(
            rf"(?<![<>=!\w]){re.escape(taken)}(?![=\w])", re.sub(r"#[^\n]*", lambda each: " " * len(each[0]), gap)
        )
        if match is not None and gap.isascii():
            self._make(kind, start + match.start(), start + match.end(), put)

    # Scopes, and what is left out

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name == "__repr__":
            return
        self._names.append(node.name)
        self._functions += 1
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        self._names.append("<locals>")
        for statement in node.body:
            # What a nested function is called has <locals> in it; what stands in this one itself has not.
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.visit(statement)
            else:
                self._in_body(statement)
        self._names.pop()
        self._functions -= 1
        self._names.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name that ast calls

    def _in_body(self, statement: ast.stmt) -> None:
        self._names.pop()
        self.visit(statement)
        self._names.append("<locals>")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        functions, self._functions = self._functions, 0
        for statement in node.body:
            self.visit(statement)
        self._functions = functions
        self._names.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        self._assign(node.targets[0], node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._assign(node.target, node.value)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        name = target.id if isinstance(target, ast.Name) else ""
        if value is None or name == "__all__":
            return
        outer, self._assigned = self._assigned, name
        self.visit(value)
        self._assigned = outer

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave it: its text is for people."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave it: it narrows types."""

    # Rules

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in self._text(node.test):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        self._replace("condition negated", test, f"(not ({self._text(test)}))")

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._replace("filter dropped", condition, "True")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant) or _is_logging(value):
            return
        if isinstance(value, ast.Await):
            self._replace("await dropped", node, "pass")
        elif isinstance(value, ast.Call):
            self._replace("statement dropped", node, "pass")
        self.visit(value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return
        self._replace("returns None", node.value, "None")
        self.visit(node.value)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        is_and = isinstance(node.op, ast.And)
        taken, put = ("and", "or") if is_and else ("or", "and")
        for first, second in pairwise(node.values):
            self._between(f"{taken} to {put}", first, second, taken, put)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for (first, second), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            if signs := COMPARED.get(type(operator)):
                self._between("off by one", first, second, *signs)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int and 0 <= node.value <= MOST_COUNTED and self._functions:
            self._replace("off by one", node, str(node.value + 1))
        elif isinstance(node.value, str):
            self._sql(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._sql(node)  # before Python 3.12 what stands inside has no places

    def visit_Call(self, node: ast.Call) -> None:
        if _is_logging(node):
            return
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        plain = [each for each in node.args if not isinstance(each, ast.Starred)]
        if len(plain) > 1 and plain == node.args and name not in TYPE_CHECKS:
            first, second = plain[:2]
            if ast.dump(first) != ast.dump(second):
                gap = self._source[self._end(first) : self._start(second)].decode()
                self._make(
                    "arguments swapped",
                    self._start(first),
                    self._end(second),
                    f"{self._text(second)}{gap}{self._text(first)}",
                )
        self.generic_visit(node)

    def _sql(self, node: ast.expr) -> None:
        text = self._text(node)
        if not SQL.search(text):
            return
        for start, end in sql_conditions(text):
            before = self._start(node) + len(text[:start].encode())
            self._make("condition of SQL dropped", before, before + len(text[start:end].encode()), "")


def _is_logging(node: ast.expr) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and function.attr in LOGGING
        and "log" in ast.unparse(function.value).lower()
    )


def sql_conditions(text: str) -> Iterator[tuple[int, int]]:
    """Yield where conditions that follow an AND stand in SQL, with the AND; none that is the end of a BETWEEN."""
    for match in SQL_AND.finditer(text):
        earlier = re.split(r"\b(?:AND|OR|WHERE|ON|WHEN)\b", text[: match.start()])[-1]
        if "BETWEEN" in earlier:
            continue
        end = _condition_end(text, match.end())
        if end > match.end():
            yield match.start(), end


def _condition_end(text: str, start: int) -> int:
    """Return where the condition ends that begins at `start`: at what follows it, or at the bracket around it."""
    depth, at = 0, start
    while at < len(text):
        ends = SQL_ENDS.match(text, at) if depth == 0 else None
        if ends is not None and not ("AND" in ends[0] and re.search(r"\bBETWEEN\b(?![\s\S]*\bAND\b)", text[start:at])):
            return at
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth < 0:
                return at
        elif text[at] == "'" and (quote := text.find("'", at + 1)) >= 0:
            at = quote
        at += 1
    return start


def users_of(name: str, trees: Sequence[ast.Module]) -> set[str]:
    """Return the names of functions in `trees` that read `name`, or a name of a module that is made of it."""
    names, before = {name}, set[str]()
    while names != before:
        before = set(names)
        for tree in trees:
            for statement in tree.body:
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
                )
                made = {target.id for target in targets if isinstance(target, ast.Name)}
                value = getattr(statement, "value", None)
                if made and isinstance(value, ast.expr) and _reads(value, names):
                    names |= made
    found = set[str]()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _reads(node, names):
                found.add(node.name)
    return found


def _reads(node: ast.AST, names: set[str]) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id in names) or (isinstance(each, ast.Attribute) and each.attr in names)
        for each in ast.walk(node)
    )
