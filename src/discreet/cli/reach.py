"""What `discreet doctor` finds at the other end of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from discreet.access.identity import IDENTITY_KEY
from discreet.access.loopback import is_loopback_name
from discreet.access.user_keys import load_user_keys
from discreet.checkpoint.migrating import pending_checkpoint_tables
from discreet.checkpoint.unnamed_channels import keeping
from discreet.cli.checks import IN_FORCE, Check, transport_check
from discreet.cli.stored import stored_checks
from discreet.driver_errors import storage_errors
from discreet.errors import ConfigurationError, DiscreetError, ShortTermError
from discreet.leases import is_pooled
from discreet.providers import embedding_provider
from discreet.providers.environment_values import environment_values
from discreet.providers.in_force import in_force
from discreet.settings import Settings
from discreet.storage import resolve_dsn
from discreet.storage.database.access import access_of
from discreet.storage.database.connecting.connection import StorageConnection, connect
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.database.connecting.server import check_server
from discreet.storage.database.connecting.target import Target, connection_string, target_of
from discreet.storage.database.migrating.migrations import migration_state, released
from discreet.storage.database.roles import foreign_to, is_application, is_as_applied
from discreet.storage.database.users.identity_key import OTHER_KEY, has_other_key
from discreet.storage.embedding_choice import chosen_embeddings
from discreet.storage.redis import RedisClient
from discreet.storage.redis.connecting import hosts, is_tls
from discreet.storage.settings.postgres_settings import PostgresSettingsStore
from discreet.storage.short_term.redis_keys import session_keys

_PGVECTOR: LiteralString = (
    "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'"
)
_HAS_USERS: LiteralString = "SELECT to_regclass('discreet.identity_key')::text"
_READ_ONLY: LiteralString = "SELECT current_setting('transaction_read_only')"

UP_TO_DATE = "Up to date."

_NAMES = (
    "database",
    "pgvector",
    "schema",
    "users",
    "checkpoints",
    "row-level security",
    "transport",
    "in force",
    "sealed rows",
)


async def database_checks(dsn: str | None, settings: Settings) -> list[Check]:
    """Return what there is to say of the server, of pgvector and of the tables. Nothing is migrated."""
    embedded = dsn is None and settings.postgres_dsn is None
    found: list[Check] = []
    try:
        with storage_errors():
            async with resolve_dsn(dsn, settings) as target, await connect(target) as conn:
                found.append(await _database(conn, "embedded" if embedded else "yours"))
                found.append(await _pgvector(conn))
                found.append(await _schema(conn, embedded=embedded))
                found.append(await _users(conn, settings))
                found.append(await _checkpoints(target, settings))
                transport = _transport(conn)
            found.append(await _row_security(target, settings, embedded=embedded))
            found.append(transport)
            if found[_NAMES.index("schema")].say == UP_TO_DATE:
                found += [await _in_force(target, settings), *await stored_checks(target, settings)]
    except DiscreetError as error:
        found.append(Check(_NAMES[len(found)], "fail", str(error)))
    return found


async def _in_force(dsn: str, settings: Settings) -> Check:
    """Return what a storage over this database works with: the database's settings go before those of the environment."""
    async with make_pool(access_of(dsn, settings).app, max_size=1) as pool:
        live = PostgresSettingsStore(pool, environment=environment_values(settings))
        await live.read()
        try:
            named = embedding_provider(settings=settings)
            choice = await chosen_embeddings(pool, live, settings, otherwise=named)
        except ConfigurationError as error:
            return Check(IN_FORCE, "fail", str(error))
        return Check(IN_FORCE, "ok", in_force(settings, live.live, choice.embeddings))


async def replica_check(settings: Settings) -> list[Check]:
    """Return whether the replica answers, if there is to be one."""
    if settings.postgres_read_dsn is None:
        return []
    try:
        with storage_errors():
            async with await connect(target_of(settings.postgres_read_dsn.get_secret_value(), settings)) as conn:
                missing, version = [each.name for each in (await migration_state(conn)).pending], _version(conn)
    except DiscreetError as error:
        return [Check("replica", "warn", f"Searches stay on the primary. {error}")]
    if missing:
        return [Check("replica", "warn", f"Searches stay on the primary: it lacks {', '.join(missing)}.")]
    return [Check("replica", "ok", f"PostgreSQL {version}. Memories are searched there, as old as it is behind.")]


async def redis_check(settings: Settings) -> Check:
    """Return whether Redis answers, if there is to be one."""
    if settings.redis_url is None:
        return Check("redis", "ok", "Not used.")
    try:
        client = RedisClient(settings.redis_url.get_secret_value())
        try:
            await client.ping()
            await client.command(
                "GET", session_keys("discreet-doctor", "-").state
            )  # whoever may not read sessions is told
        finally:
            await client.close()
    except DiscreetError as error:
        if type(error) is not ShortTermError:
            return Check("redis", "fail", str(error))
        return Check("redis", "fail", "It can't be reached: check DISCREET_REDIS_URL, or unset it to use PostgreSQL.")
    url = settings.redis_url.get_secret_value()
    if not is_tls(url) and not all(map(is_loopback_name, hosts(url))):
        say = "It answers, without TLS: who is between here and there can read along. Name it by rediss:// (docs/keys.md)."
        return Check("redis", "warn", say)
    return Check("redis", "ok", "It answers.")


async def _database(conn: AsyncConnection[TupleRow], where: str) -> Check:
    between = ", through a pooler in transaction mode" if is_pooled(conn) else ""
    row = await (await conn.execute(_READ_ONLY)).fetchone()
    said = f"PostgreSQL {_version(conn)}, {where}{between}."
    if row == ("on",):
        return Check("database", "warn", f"{said} It can only be read: searches work, and nothing can be stored.")
    return Check("database", "ok", said)


def _transport(conn: AsyncConnection[TupleRow]) -> Check:
    """Return how the connection that there is was made: a service file or the environment may say it as well as the DSN."""
    said = {option.keyword: option.val.decode() for option in conn.pgconn.info if option.val is not None}
    return transport_check(conn.info.host, conn.info.hostaddr, said.get(b"sslmode"))


async def _pgvector(conn: AsyncConnection[TupleRow]) -> Check:
    await check_server(conn)
    row = await (await conn.execute(_PGVECTOR)).fetchone()
    installed, offered = row or (None, None)
    if installed is None:
        return Check("pgvector", "warn", f"{offered}, not created in this database yet: run `discreet migrate`.")
    return Check("pgvector", "ok", f"{installed}.")


async def _schema(conn: AsyncConnection[TupleRow], *, embedded: bool) -> Check:
    state = await migration_state(conn)
    state.check()
    if not state.pending:
        return Check("schema", "ok", UP_TO_DATE)
    if embedded and len(state.pending) == len(released()):
        return Check("schema", "ok", "Nothing is stored yet: the first start makes the tables.")
    say = f"Lacks {', '.join(each.name for each in state.pending)}: run `discreet migrate`. A start does it too, if its role may."
    return Check("schema", "warn" if embedded else "fail", say)


async def _users(conn: StorageConnection[Any], settings: Settings) -> Check:
    """Return whether this process finds what the database has of its users. A key is made by the first start, not here."""
    row = await (await conn.execute(_HAS_USERS)).fetchone()
    if row is None or row[0] is None:
        return Check("users", "ok", "None yet.")
    has_key = settings.identity_key is not None or (settings.data_dir / IDENTITY_KEY.name).exists()
    if await has_other_key(conn, load_user_keys(settings) if has_key else None):
        return Check("users", "fail", OTHER_KEY)
    return Check("users", "ok", "Known by the identity key of this process.")


def _unkept(channels: Sequence[str]) -> str:
    """Return what to add about channels of threads of another saver."""
    if not channels:
        return ""
    named = ", ".join(channels)
    return f" Of their state these channels would not be kept: {named}. Give the saver policy={keeping(channels)} (docs/adopting.md)."


async def _checkpoints(dsn: str, settings: Settings) -> Check:
    schema, lacking, unnamed = await pending_checkpoint_tables(connection_string(dsn))
    spills = settings.spill or (settings.spill is None and settings.encryption_keys is not None)
    steps = [step for step in lacking if spills or "spill" not in step]
    if not steps:
        return Check("checkpoints", "ok", f'Up to date, in the schema "{schema}".')
    return Check(
        "checkpoints",
        "warn",
        f'The schema "{schema}" lacks {", ".join(steps)}: run `discreet migrate`, with --checkpoint-schema if the '
        "checkpointer has a schema of its own. A start does it too, if its role may." + _unkept(unnamed),
    )


async def _row_security(dsn: str, settings: Settings, *, embedded: bool) -> Check:
    """Return whether the database itself keeps users apart from whoever serves them."""
    name = "row-level security"
    if embedded:
        if settings.row_security:
            return Check(name, "ok", "In force: the embedded server is used as a role that sees one user at a time.")
        return Check(name, "warn", "Not in force: DISCREET_ROW_SECURITY is off.")
    target = access_of(dsn, settings).app
    async with await connect(target) as conn:
        if conn.sees_everybody:
            return Check(
                name,
                "warn",
                "Not in force: this role sees the rows of all users, and only our own SQL keeps them apart. `discreet roles --apply` as the "
                "owner makes roles; then name the application's in DISCREET_POSTGRES_DSN (docs/roles.md).",
            )
        return Check(name, *await _of_application(conn, target))


async def _of_application(conn: StorageConnection[Any], target: Target) -> tuple[Literal["ok", "warn", "fail"], str]:
    """Return how it is with what keeps users apart from a role that does not see all of them."""
    if not await is_application(conn, target):
        return "fail", (
            "DISCREET_POSTGRES_DSN names a role that the policies of this database are not for: name a login of the application's (docs/roles.md)."
        )
    if not await is_as_applied(conn, target):
        return (
            "fail",
            "Policies, rights or functions are not as `discreet roles --apply` left them: run it again, as the owner.",
        )
    if foreign := await foreign_to(conn, target):
        return (
            "warn",
            f"In force, but see whether what somebody else put there lets more be seen: {'; '.join(foreign)}.",
        )
    return "ok", "In force: this role sees the rows of one user at a time."


def _version(conn: AsyncConnection[TupleRow]) -> str:
    return f"{conn.info.server_version // 10_000}.{conn.info.server_version % 10_000}"
