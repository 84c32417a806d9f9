"""A statement in the words of another database: names change, and nothing else."""

import pytest

from discreet.storage.database.connecting.names import Names

ELSEWHERE = Names("Acme memory", "extensions")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("SELECT * FROM discreet.memory m", 'SELECT * FROM "Acme memory".memory m'),
        ("CREATE SCHEMA discreet;", 'CREATE SCHEMA "Acme memory";'),
        ("'discreet.memory'::regclass", "'\"Acme memory\".memory'::regclass"),
        ('DROP INDEX "discreet"."x"', 'DROP INDEX "Acme memory"."x"'),
        ("%(types)s::discreet.memory_type[]", '%(types)s::"Acme memory".memory_type[]'),
        ("current_setting('discreet.user_key', true)", "current_setting('discreet.user_key', true)"),
        ("embedding halfvec, own sparsevec", 'embedding "extensions".halfvec, own "extensions".sparsevec'),
        ("%(halfvec)s::halfvec(64)[]", '%(halfvec)s::"extensions".halfvec(64)[]'),
        ("a <#> b", 'a OPERATOR("extensions".<#>) b'),
        ("sketch<~>(x)", 'sketchOPERATOR("extensions".<~>)(x)'),
        ("CHECK (vector_dims(e) <= 512)", 'CHECK ("extensions".vector_dims(e) <= 512)'),
        ("USING hnsw (e halfvec_ip_ops)", 'USING hnsw (e "extensions".halfvec_ip_ops)'),
        ("halfvec_send(e), other.halfvec", '"extensions".halfvec_send(e), other.halfvec'),
        ("CREATE EXTENSION vector", "CREATE EXTENSION vector"),
        ("indiscreet.x, a.discreet.b", "indiscreet.x, a.discreet.b"),
    ],
)
def test_names_are_translated(ours, theirs):
    assert ELSEWHERE.translate(ours) == theirs
    assert ELSEWHERE.translate(ours.encode()) == theirs.encode()


def test_where_nothing_differs_the_same_statement_comes_back():
    statement = "SELECT embedding <#> %s FROM discreet.memory"
    assert Names().translate(statement) is statement
    assert Names(vector_schema="x").translate("SELECT 1 FROM discreet.memory") == "SELECT 1 FROM discreet.memory"
    assert Names("other").translate(statement) == 'SELECT embedding <#> %s FROM "other".memory'
