"""Say statements as one database wants them: its own name of our schema, and where it has pgvector.

All statements of ours are written for a schema called discreet and a pgvector in sight of search_path. Where either is not so
they are translated, once each: nothing but names changes. search_path can't help: behind a pooler it is somebody else's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

OURS = "discreet"

_NAMES = re.compile(
    r"""
    (?P<ours>
        (?<![\w."]) discreet (?= \. (?! user_key \b))   # discreet.user_key is a parameter (SET), which has no schema
      | (?<![\w.]) "discreet" (?= \.)
      | (?<= \bSCHEMA[ ]) discreet \b
      | (?<= \bSCHEMA[ ]IF[ ]NOT[ ]EXISTS[ ]) discreet \b
      | (?<= ') discreet (?= ' :: regnamespace)
    )
    | (?<![\w."]) (?<! %\( ) (?P<theirs>
        (?: halfvec | sparsevec ) \b
      | (?: binary_quantize | subvector | inner_product | vector_(?: dims | norm )
          | (?: l1 | l2 | cosine | hamming | jaccard )_(?: distance | norm | normalize ) | (?: halfvec | sparsevec )_send ) (?= \( )
      | \w+_(?: ip | l2 | cosine | hamming ) _ops \b
    )
    | (?P<operator> <\#> | <~> | <=> | <-> | <\+> )
    """,
    re.VERBOSE,
)
"""In a quoted text too: such are names that the server reads, 'discreet.memory'::regclass. What people said never is in one."""


@dataclass(frozen=True)
class Names:
    """How one database calls things."""

    schema: str = OURS
    """Where our tables are."""
    vector_schema: str | None = None
    """Where pgvector is; None: in sight of search_path."""

    def translate(self, statement: str | bytes) -> str | bytes:
        """Return `statement` as this database understands it."""
        if self == _DEFAULT:
            return statement
        if isinstance(statement, bytes):
            return _translated(self, statement.decode()).encode()
        return _translated(self, statement)


_DEFAULT = Names()


@lru_cache(maxsize=1_000)
def _translated(names: Names, statement: str) -> str:
    schema = f'"{names.schema}"'
    vector = "" if names.vector_schema is None else f'"{names.vector_schema}".'

    def said(match: re.Match[str]) -> str:
        if match["ours"]:
            return match[0] if names.schema == OURS else schema
        if not vector:
            return match[0]
        return f"OPERATOR({vector}{match[0]})" if match["operator"] else f"{vector}{match[0]}"

    return _NAMES.sub(said, statement)
