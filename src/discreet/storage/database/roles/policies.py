"""The SQL of roles, grants and policies, given what is in a database. Pure: nothing is run here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, LiteralString

from psycopg.sql import SQL, Composable, Composed, Identifier

from discreet.storage.database.roles.analysis import views
from discreet.storage.database.roles.functions import NOBODYS_KEY, functions, naming
from discreet.storage.database.roles.names import RoleNames
from discreet.storage.database.roles.tables import Database, Table

ALL: Final[LiteralString] = "SELECT, INSERT, UPDATE, DELETE"

SHARED: Final[Mapping[str, LiteralString]] = {
    "migrations": "SELECT",
    "identity_key": "SELECT, INSERT",
    "embedding_space": "SELECT, INSERT, UPDATE",
    "token_frequency": "SELECT",
    "corpus": "SELECT",
    "setting": ALL,
    "setting_change": "SELECT, INSERT",
    "audit_mark": "INSERT",
    "vault_turn": ALL,
    "vault_value": ALL,
    "checkpoint_migrations": "SELECT",
}
"""What the application may do with tables whose rows are no user's. With those that are not here it has nothing to do. The vault's
are sealed, and found by who knows the name of a turn."""

WORKS: Final[Mapping[str, LiteralString]] = {
    "identity_key": "SELECT, INSERT",
    "setting_change": "SELECT, INSERT",
    "audit_chain": "SELECT, INSERT, UPDATE",
    "audit_entry": "SELECT, INSERT, DELETE",
    "audit_seal": "SELECT, INSERT, DELETE",
    "audit_sealed_head": "SELECT, INSERT, DELETE",
    "audit_mark": "SELECT, INSERT, UPDATE",
}
"""What the worker may do with tables of which it may not do all: what tells of the past it only adds to, and lets go of what was kept as
long as it is kept."""

POLICIES: Final = frozenset({"owner", "app", "app_reads", "several", "worker", "backup", "auditor"})
"""Of our policies."""

ENTRIES: Final = "audit_entry"
"""To which the application adds what it did. Of entries about nobody in particular it reads none."""

OF_APP: Final[Mapping[str, LiteralString]] = {
    "audit_chain": "SELECT, INSERT, UPDATE",
    ENTRIES: "SELECT, INSERT",
    "checkpoint_threads": "INSERT, UPDATE, DELETE, SELECT (thread_id, owner, deleted_at, oldest_at)",
}
"""What the application may do with tables of users' rows, where it is not all. Whose a thread is stands in a column that it can't read: who
knows the id of a thread is to learn nobody's key by it."""

NOT_FOR_APP: Final = frozenset({"audit_sealed_head"})
"""Tables of users' rows with which the application has nothing to do."""

TRAIL: Final = frozenset(
    {
        "audit_chain",
        ENTRIES,
        "audit_seal",
        "audit_sealed_head",
        "audit_mark",
        "identity_key",
        "setting_change",
        "erasure",
    }
)
"""What an auditor reads."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is done in one transaction."""

    what: str
    statements: Sequence[SQL | Composed]


def steps(there: Database, names: RoleNames) -> Iterator[Step]:
    """Yield what makes the roles and the policies, in this order. Doing it again changes nothing."""
    if missing := [name for name in names.all if name not in there.roles]:
        yield Step(what="roles", statements=[_create(name) for name in missing])
    yield Step(what="functions that name users", statements=[*naming(there.schema)])
    yield Step(what="rights", statements=[*_rights(there, names)])
    if others := [*_of_others(there, names)]:
        yield Step(what="policies of others away, which let these roles see more", statements=others)
    for table in there.tables:
        if table.of_users:
            yield Step(what=f"policies of {table.schema}.{table.name}", statements=[*_policies(table, there, names)])
    yield Step(what="functions with rights", statements=[*functions(there, names)])
    yield Step(what="views", statements=[*views(there, names)])


def fingerprint(made: Sequence[Step]) -> str:
    """Return what tells these steps from others."""
    text = "\n".join(statement.as_string() for step in made if step.what != "roles" for statement in step.statements)
    return sha256(text.encode()).hexdigest()[:32]


def _create(role: str) -> Composed:
    """Make a role, unless somebody does so at the same time in another database of the server."""
    return SQL(
        "DO $$ BEGIN CREATE ROLE {} NOLOGIN NOINHERIT; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
    ).format(Identifier(role))


def _grant(rights: LiteralString, table: Table, role: str) -> Composed:
    return SQL("GRANT {} ON {} TO {}").format(SQL(rights), table.sql, Identifier(role))


def _schemas(there: Database, names: RoleNames) -> Iterator[Composed]:
    """Let the roles find what is in the schemas of our tables, and pgvector where not everybody may."""
    schemas = {there.schema, *(table.schema for table in there.tables)}
    for schema in sorted(schemas | ({there.closed_schema} if there.closed_schema else set())):
        for role in names.all:
            yield SQL("GRANT USAGE ON SCHEMA {} TO {}").format(Identifier(schema), Identifier(role))
    for schema in sorted(schemas):
        yield SQL("GRANT SELECT ON ALL SEQUENCES IN SCHEMA {} TO {}").format(
            Identifier(schema), Identifier(names.backup)
        )


def _rights(there: Database, names: RoleNames) -> Iterator[SQL | Composed]:
    yield from _schemas(there, names)
    yield SQL("GRANT {} TO {}").format(Identifier(names.several), Identifier(names.app))
    for table in there.tables:
        yield SQL("REVOKE ALL ON {} FROM PUBLIC").format(table.sql)
        for role in names.all:
            yield SQL("REVOKE ALL ON {} FROM {}").format(table.sql, Identifier(role))
        if table.of_users and table.name not in NOT_FOR_APP:
            yield _grant(OF_APP.get(table.name, ALL), table, names.app)
        elif table.name in SHARED:
            yield _grant(SHARED[table.name], table, names.app)
        if (table.of_users and not table.is_checkpoints) or table.name in {
            "embedding_space",
            "token_frequency",
            "corpus",
        }:
            yield _grant("SELECT", table, names.several)
        yield _grant(WORKS.get(table.name, ALL), table, names.worker)
        if table.name in TRAIL:
            yield _grant("SELECT", table, names.auditor)
        yield _grant("SELECT", table, names.backup)


def _of_others(there: Database, names: RoleNames) -> Iterator[Composed]:
    """Drop policies that we don't make and that these roles, or all, see more rows by: permissive ones add up."""
    for policy in there.policies:
        if policy.name not in POLICIES and policy.permissive and {"public", *names.all} & {*policy.roles}:
            yield SQL("DROP POLICY {} ON {}").format(Identifier(policy.name), Identifier(policy.schema, policy.table))


def _policies(table: Table, there: Database, names: RoleNames) -> Iterator[SQL | Composed]:
    schema = Identifier(there.schema)
    mine = SQL("user_key = {}.me()").format(schema)
    several = SQL("user_key = ANY ({}.mine()) AND user_key <> {}").format(schema, NOBODYS_KEY)
    everything = SQL("true")
    yield SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table.sql)
    yield SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(table.sql)
    for name in sorted(POLICIES):
        yield SQL("DROP POLICY IF EXISTS {} ON {}").format(Identifier(name), table.sql)
    yield _policy(table, "owner", "ALL", table.owner, everything)
    if table.is_checkpoints:
        yield _policy(table, "app", "ALL", names.app, SQL("thread_id = {}.named_thread()").format(schema))
    elif table.name == ENTRIES:
        yield _policy(table, "app", "INSERT", names.app, mine)
        yield _policy(table, "app_reads", "SELECT", names.app, several)
    else:
        yield _policy(table, "app", "ALL", names.app, mine)
    if not table.is_checkpoints:
        yield _policy(table, "several", "SELECT", names.several, several)
    yield _policy(table, "worker", "ALL", names.worker, everything)
    yield _policy(table, "backup", "SELECT", names.backup, everything)
    if table.name in TRAIL:
        yield _policy(table, "auditor", "SELECT", names.auditor, everything)


def _policy(table: Table, name: LiteralString, command: LiteralString, role: str, rows: Composable) -> Composed:
    which = SQL("WITH CHECK" if command == "INSERT" else "USING")
    return SQL("CREATE POLICY {} ON {} FOR {} TO {} {} ({})").format(
        Identifier(name), table.sql, SQL(command), Identifier(role), which, rows
    )
