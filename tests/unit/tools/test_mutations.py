"""What tools/mutations.py changes, and what it leaves."""

import ast

import pytest


def mutated(source):
    """Return by kind what becomes of `source`."""
    from mutations import mutations_of

    found = {}
    for each in mutations_of(source.encode()):
        found.setdefault(each.kind, []).append(each.applied_to(source.encode()).decode())
    return found


def in_function(*lines):
    return "def f():\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("kind", "line", "becomes"),
    [
        ("condition negated", "x = 1.5 if a else b", "x = 1.5 if (not (a)) else b"),
        ("await dropped", "await g()", "pass"),
        ("statement dropped", "g()", "pass"),
        ("filter dropped", "x = [a for a in b if a.c]", "x = [a for a in b if True]"),
        ("off by one", "x = a < b", "x = a <= b"),
        ("off by one", "x = (a) >= (b)", "x = (a) > (b)"),
        ("off by one", "x = a[1]", "x = a[2]"),
        ("and to or", "x = a and not b", "x = a or not b"),
        ("or to and", "x = a or b", "x = a and b"),
        ("arguments swapped", "x = g(a, 'ä', c)", "x = g('ä', a, c)"),
        ("returns None", "return a.b", "return None"),
    ],
)
def test_each_mistake_is_made_in_its_place(kind, line, becomes):
    source = in_function(line)
    if "await" in line:
        source = f"async {source}"
    assert mutated(source)[kind] == [source.replace(line, becomes)]


@pytest.mark.parametrize(
    "source",
    [
        '"""A text, 1 of 2, that says (a, b)."""\n',
        "if TYPE_CHECKING:\n    import a\n",
        "__all__ = [x for x in y if x]\n",
        in_function("raise Error(a, 1)"),
        in_function("assert a and b"),
        in_function("logger.warning('x %s', g(a, b))"),
        "def f(a: g(1, 2) = None) -> h(1, 2):\n    pass\n",
        "LIMIT = 5\n",
        in_function("return None"),
        in_function("return isinstance(a, b)").replace("return ", "x = "),
        in_function("while True:", "    break"),
    ],
)
def test_what_nobody_would_notice_is_left(source):
    assert mutated(source) == {}


def test_a_condition_of_sql_goes_alone():
    source = '_READ = """\nSELECT a FROM b\nWHERE c = %(c)s AND d IN (SELECT e FROM f WHERE g AND j) AND h BETWEEN 1 AND 2\n  AND i = \'AND\'\n"""\n'
    assert mutated(source)["condition of SQL dropped"] == [
        source.replace(" AND d IN (SELECT e FROM f WHERE g AND j)", ""),
        source.replace(" AND j", ""),
        source.replace(" AND h BETWEEN 1 AND 2", ""),
        source.replace("\n  AND i = 'AND'", ""),
    ]


def test_a_condition_of_sql_in_a_format_string_goes_too():
    source = '_READ = f"SELECT a FROM b WHERE {C} AND d = e"\n'
    assert mutated(source)["condition of SQL dropped"] == ['_READ = f"SELECT a FROM b WHERE {C}"\n']


def test_a_mutation_knows_its_function_as_python_calls_it():
    from mutations import mutations_of

    source = "A = [1 for b in c if b]\nclass C:\n    def f(self):\n        def g():\n            return h\n        return g\n"
    scopes = [(each.scope, each.in_function) for each in mutations_of(source.encode())]
    assert scopes == [("A", False), ("C.f.<locals>.g", True), ("C.f", True)]


def test_who_reads_a_constant_is_found_through_what_is_made_of_it():
    from mutations import users_of

    made = ast.parse("A = 'x'\nB = f'{A} y'\nOTHER = 1\n\ndef f():\n    return B\n\ndef g():\n    return OTHER\n")
    elsewhere = ast.parse("def h():\n    return sql.A\n")
    assert users_of("A", [made, elsewhere]) == {"f", "h"}
