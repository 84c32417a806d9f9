"""Look what is in a database that roles are made for, and whether what was made is still as it was."""

from __future__ import annotations

from typing import Any, LiteralString

from psycopg.rows import dict_row

from discreet.errors import MigrationError
from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.database.connecting.target import Target
from discreet.storage.database.roles.analysis import VIEWS
from discreet.storage.database.roles.functions import FUNCTIONS
from discreet.storage.database.roles.names import RoleNames
from discreet.storage.database.roles.policies import POLICIES
from discreet.storage.database.roles.tables import Database, Policy, Table

CHECKPOINTS = (
    "checkpoints",
    "checkpoint_blobs",
    "checkpoint_writes",
    "checkpoint_migrations",
    "checkpoint_messages",
    "checkpoint_spill",
    "checkpoint_threads",
)
"""LangGraph's tables, and what we put beside them. Others in their schema are somebody else's."""

TRIGGERS = (
    "setting_change_is_only_added_to",
    "audit_entry_is_only_added_to",
    "audit_entry_is_not_deleted",
    "audit_seal_is_only_added_to",
    "audit_seal_is_not_deleted",
    "audit_mark_only_rises",
    "audit_mark_is_not_deleted",
)
"""By which histories are only added to, and the mark of the last seal goes up only."""

FORGETTING = ("checkpoint_forgotten", "checkpoint_forgotten_all")
"""By which messages of a thread go with its last checkpoint; the checkpointer makes them."""

SPREAD = "audit_entry_"
"""How those of a table begin that a cluster spreads over its nodes, where tables have no triggers."""

_OURS: LiteralString = """
SELECT n.nspname::text AS schema, c.relname::text AS name, pg_get_userbyid(c.relowner)::text AS owner,
    c.oid, c.relnamespace, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.reloptions, c.relacl
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE (
    n.nspname = %(schema)s
    OR c.relname = ANY (%(checkpoints)s) AND EXISTS (
        SELECT FROM pg_class t WHERE t.relnamespace = n.oid AND t.relname = 'checkpoint_threads'
    )
) AND NOT c.relispartition AND c.oid NOT IN (SELECT inhrelid FROM pg_inherits)
"""

_TABLES: LiteralString = f"""
SELECT c.schema, c.name, c.owner,
    EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped
        AND (a.attname = 'user_key' OR a.attname = 'thread_id' AND c.name = ANY (%(checkpoints)s))
    ) AS of_users
FROM ({_OURS}) c WHERE c.relkind IN ('r', 'p')
ORDER BY 1, 2
"""

_ROLES: LiteralString = """
SELECT array_agg(rolname::text) AS roles, coalesce(array_agg(rolname::text) FILTER (WHERE rolsuper), '{}') AS superusers
FROM pg_roles
"""

_CLOSED: LiteralString = """
SELECT n.nspname::text AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector' AND NOT EXISTS (
    SELECT FROM aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a WHERE a.grantee = 0 AND a.privilege_type = 'USAGE'
)
"""

_POLICIES: LiteralString = f"""
SELECT c.schema, c.name AS table, p.polname::text AS name, p.polpermissive AS permissive,
    ARRAY(SELECT CASE r WHEN 0 THEN 'public' ELSE pg_get_userbyid(r)::text END FROM unnest(p.polroles) AS r ORDER BY 1) AS roles
FROM ({_OURS}) c JOIN pg_policy p ON p.polrelid = c.oid
ORDER BY 1, 2, 3
"""

_STATE: LiteralString = f"""
WITH ours AS ({_OURS}),
named AS (
    SELECT oid AS r FROM pg_roles WHERE rolname = ANY (%(roles)s) UNION SELECT 0::oid
),
functions AS (
    SELECT p.* FROM pg_proc p
    WHERE p.prokind = 'f' AND (
        p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
        OR p.pronamespace IN (SELECT relnamespace FROM ours) AND p.proname = ANY (%(functions)s)
    )
),
said AS (
    SELECT concat_ws(' ', schema, name, relkind, relrowsecurity, relforcerowsecurity, reloptions, owner) AS line
    FROM ours WHERE relkind IN ('r', 'p', 'v', 'm')
    UNION ALL
    SELECT concat_ws(
        ' ', schema, name, polname, polcmd, polpermissive, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid),
        ARRAY(SELECT r::regrole::text FROM unnest(polroles) AS r ORDER BY 1)
    )
    FROM ours JOIN pg_policy ON polrelid = ours.oid
    UNION ALL
    SELECT concat_ws(' ', schema, name, a.grantee::regrole, a.privilege_type)
    FROM ours CROSS JOIN aclexplode(relacl) a WHERE relkind IN ('r', 'p', 'v', 'm') AND pg_get_userbyid(a.grantee) <> owner
    UNION ALL
    SELECT concat_ws(' ', schema, name, attname, a.grantee::regrole, a.privilege_type)
    FROM ours JOIN pg_attribute ON attrelid = ours.oid CROSS JOIN aclexplode(attacl) a
    UNION ALL
    SELECT concat_ws(' ', schema, name, tgname, tgenabled, pg_get_triggerdef(t.oid))
    FROM ours JOIN pg_trigger t ON tgrelid = ours.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT concat_ws(' ', schema, name, inhrelid::regclass) FROM ours JOIN pg_inherits ON inhparent = ours.oid WHERE relkind = 'r'
    UNION ALL
    SELECT concat_ws(' ', schema, name, pg_get_viewdef(oid)) FROM ours WHERE relkind IN ('v', 'm')
    UNION ALL
    SELECT concat_ws(' ', pg_get_functiondef(oid), proowner::regrole) FROM functions
    UNION ALL
    SELECT concat_ws(' ', oid::regprocedure, a.grantee::regrole) FROM functions CROSS JOIN aclexplode(proacl) a
    UNION ALL
    SELECT concat_ws(' ', nspname, a.grantee::regrole, a.privilege_type)
    FROM pg_namespace n CROSS JOIN aclexplode(nspacl) a
    WHERE n.oid IN (SELECT relnamespace FROM ours) AND a.grantee IN (SELECT r FROM named)
    UNION ALL
    SELECT concat_ws(' ', rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication)
    FROM pg_roles WHERE oid IN (SELECT r FROM named)
    UNION ALL
    SELECT concat_ws(' ', member::regrole, roleid::regrole) FROM pg_auth_members WHERE member IN (SELECT r FROM named)
)
SELECT encode(sha256(convert_to(string_agg(line, E'\n' ORDER BY line COLLATE "C"), 'UTF8')), 'hex') AS state FROM said
"""
"""All of it that policies hang on, as a digest."""

_FOREIGN: LiteralString = f"""
WITH ours AS ({_OURS}),
named AS (
    SELECT oid AS r, rolname AS role FROM pg_roles WHERE rolname = ANY (%(roles)s)
)
SELECT format('policy %%s on %%s.%%s', polname, schema, name) AS what
FROM ours JOIN pg_policy ON polrelid = ours.oid WHERE polpermissive AND polname <> ALL (%(policies)s)
UNION ALL
SELECT format('rights of all on %%s.%%s', schema, name)
FROM ours CROSS JOIN aclexplode(relacl) a WHERE relkind IN ('r', 'p', 'v', 'm') AND a.grantee = 0
UNION ALL
SELECT format('rights on the column %%s of %%s.%%s', attname, schema, name)
FROM ours JOIN pg_attribute ON attrelid = ours.oid
WHERE EXISTS (
    SELECT FROM aclexplode(attacl) a
    WHERE name <> 'checkpoint_threads' OR attname = 'user_key' OR a.privilege_type <> 'SELECT'
       OR pg_get_userbyid(a.grantee) <> %(app)s
)
UNION ALL
SELECT format('view %%s.%%s', schema, name) FROM ours WHERE relkind IN ('v', 'm') AND name <> ALL (%(views)s)
UNION ALL
SELECT format('function %%s', p.oid::regprocedure)
FROM pg_proc p WHERE p.prosecdef AND p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s) AND p.proname <> ALL (%(functions)s)
UNION ALL
SELECT format('trigger %%s on %%s.%%s', tgname, schema, name)
FROM ours JOIN pg_trigger ON tgrelid = ours.oid
WHERE NOT tgisinternal AND (tgenabled = 'D' OR tgname <> ALL (%(triggers)s))
UNION ALL
SELECT format('no trigger %%s', t.name) FROM unnest(%(needed_triggers)s::text[]) AS t (name)
WHERE NOT EXISTS (SELECT FROM ours JOIN pg_trigger ON tgrelid = ours.oid WHERE tgname = t.name)
UNION ALL
SELECT format('table %%s, which inherits from %%s.%%s', inhrelid::regclass, schema, name)
FROM ours JOIN pg_inherits ON inhparent = ours.oid WHERE relkind = 'r'
UNION ALL
SELECT format('attributes of the role %%s', rolname) FROM pg_roles
WHERE rolname = ANY (%(roles)s) AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)
UNION ALL
SELECT format('membership of %%s in %%s', m.role, pg_get_userbyid(a.roleid))
FROM pg_auth_members a JOIN named m ON m.r = a.member
WHERE m.role <> %(app)s OR pg_get_userbyid(a.roleid) <> %(several)s
UNION ALL
SELECT format('CREATE of %%s on the schema %%s', pg_get_userbyid(a.grantee), nspname)
FROM pg_namespace n CROSS JOIN aclexplode(nspacl) a
WHERE n.oid IN (SELECT relnamespace FROM ours) AND a.privilege_type = 'CREATE' AND a.grantee IN (SELECT r FROM named)
ORDER BY 1
"""
"""What somebody else put there, by which more might be seen than policies let, and what nobody but they can take away."""

_APPLIED: LiteralString = """
SELECT obj_description(p.oid, 'pg_policy') AS applied
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = 'users' AND p.polname = 'app'
"""


async def look(conn: StorageConnection[Any], target: Target) -> Database:
    """Return what is there.

    Raises:
        MigrationError: There are no tables yet.
    """
    given = {"schema": target.schema, "checkpoints": list(CHECKPOINTS)}
    async with conn.cursor(row_factory=dict_row) as cursor:
        rows = await (await cursor.execute(_TABLES, given)).fetchall()
        policies = await (await cursor.execute(_POLICIES, given)).fetchall()
        closed = await (await cursor.execute(_CLOSED)).fetchone()
        [found] = await (await cursor.execute(_ROLES)).fetchall()
    if not any(row["schema"] == target.schema for row in rows):
        raise MigrationError("There are no tables yet. Run `discreet migrate` first.")
    return Database(
        schema=target.schema,
        tables=[Table(**row) for row in rows],
        policies=[Policy(**row) for row in policies],
        roles=frozenset(found["roles"]),
        closed_schema=closed["schema"] if closed else None,
        superusers=frozenset(found["superusers"]),
    )


async def state_of(conn: StorageConnection[Any], target: Target, names: RoleNames) -> str:
    """Return what tells rights, policies, views and functions that are there from others."""
    given = {
        "schema": target.schema,
        "checkpoints": list(CHECKPOINTS),
        "roles": list(names.all),
        "functions": list(FUNCTIONS),
    }
    async with conn.transaction(), conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            "SET LOCAL search_path = pg_catalog"
        )  # by which names are written with their schema, or without
        [row] = await (await cursor.execute(_STATE, given)).fetchall()
    state: str = row["state"]
    return state


async def foreign_to(conn: StorageConnection[Any], target: Target, names: RoleNames | None = None) -> list[str]:
    """Return in words what somebody else put beside it that may let more be seen than policies do. `names`: as the policies have them."""
    if names is None:
        names = RoleNames.of_app((await look(conn, target)).app_role or RoleNames().app)
    given = {
        "schema": target.schema,
        "checkpoints": list(CHECKPOINTS),
        "roles": list(names.all),
        "app": names.app,
        "several": names.several,
        "policies": list(POLICIES),
        "views": list(VIEWS),
        "functions": list(FUNCTIONS),
        "triggers": [*TRIGGERS, *FORGETTING],
        "needed_triggers": [name for name in TRIGGERS if not (conn.is_cluster and name.startswith(SPREAD))],
    }
    async with conn.cursor(row_factory=dict_row) as cursor:
        return [row["what"] for row in await (await cursor.execute(_FOREIGN, given)).fetchall()]


async def applied(conn: StorageConnection[Any], target: Target) -> str | None:
    """Return what was noted when roles were made the last time: which steps, and the state after them; None: they were not."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        row = await (await cursor.execute(_APPLIED, {"schema": target.schema})).fetchone()
    return None if row is None else row["applied"]


_IS_APP: LiteralString = """
SELECT EXISTS (
    SELECT FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN unnest(p.polroles) AS r
    WHERE n.nspname = %(schema)s AND c.relname = 'users' AND p.polname = 'app' AND pg_has_role(r, 'USAGE')
) AS is_app
"""


async def is_application(conn: StorageConnection[Any], target: Target) -> bool:
    """Tell whether the role of `conn` is the application's, for which its policies are."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        [row] = await (await cursor.execute(_IS_APP, {"schema": target.schema})).fetchall()
    return bool(row["is_app"])


async def is_as_applied(conn: StorageConnection[Any], target: Target) -> bool:
    """Tell whether all is as it was left when roles were made the last time."""
    noted, role = await applied(conn, target), (await look(conn, target)).app_role
    if noted is None or role is None:
        return False
    return noted.endswith(await state_of(conn, target, RoleNames.of_app(role)))
