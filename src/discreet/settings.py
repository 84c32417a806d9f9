"""All that Discreet reads from the environment, in one place.

Precedence: call argument > `Context` > database (`state.memory_settings`, some of them) > environment > `.env` in the working directory > default.
"""

from __future__ import annotations

import json
import os
import re
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from dotenv import dotenv_values
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from discreet.errors import WrongSettingsError


def _json_list(written: object) -> object:
    """Return what a variable says in JSON; a message about it must not repeat it."""
    if not isinstance(written, str):
        return written
    try:
        return json.loads(written)
    except json.JSONDecodeError:
        raise ValueError('Write a JSON list such as ["one", "two"].') from None


Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_json_list)]
"""A JSON list of strings, read here so that an error names the variable like any other."""


_MAX_IDENTIFIER = 63
"""Bytes of a name in PostgreSQL (docs, section 4.1.1)."""


def _readable_dsn(written: SecretStr) -> SecretStr:
    """Refuse an address of another kind, such as SQLAlchemy's `postgresql+psycopg://`. The rest is PostgreSQL's to read."""
    kind = re.match("([a-z][a-z0-9+.-]*)://", written.get_secret_value(), re.IGNORECASE)
    if kind and kind[1] not in ("postgresql", "postgres"):
        raise ValueError("Begin it with postgresql://, or write keyword=value pairs.")
    return written


PostgresDsn = Annotated[SecretStr, AfterValidator(_readable_dsn)]


def _identifier(written: str) -> str:
    """Return a name that PostgreSQL takes and that can stand in any statement, quoted."""
    if not re.fullmatch(r"[^\W\d][\w -]*", written) or len(written.encode()) > _MAX_IDENTIFIER or written[:3] == "pg_":
        raise ValueError("Write a letter, then letters, digits, _, - and spaces, 63 bytes at most, and no pg_ first.")
    return written


Identifier = Annotated[str, AfterValidator(_identifier)]

Pooler = Literal["auto"] | bool
"""Name of something in a database."""


class Settings(BaseSettings):
    """Process-wide settings, each `DISCREET_<NAME>` in the environment unless it says otherwise."""

    model_config = SettingsConfigDict(
        env_prefix="DISCREET_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    postgres_dsn: PostgresDsn | None = Field(
        default=None, description="PostgreSQL to use instead of the embedded server (pgvector >= 0.7)."
    )
    postgres_read_dsn: PostgresDsn | None = Field(
        default=None,
        description="Replica of that PostgreSQL to search on, as old as it is behind; the primary stands in for it.",
    )
    postgres_worker_dsn: PostgresDsn | None = Field(
        default=None,
        description="The same database as a role that may see all users' rows (docs/roles.md): for sweeps, re-embedding, extraction.",
    )
    postgres_owner_dsn: PostgresDsn | None = Field(
        default=None,
        description="The same database as the role that owns the tables: for migrations.",
    )
    row_security: bool = Field(
        default=True, description="Whether the embedded server keeps users apart itself, by row-level security."
    )
    postgres_password_provider: str | None = Field(
        default=None,
        description="module:function that returns the database's password for each new connection, as for tokens of a cloud.",
    )
    redis_url: SecretStr | None = Field(
        default=None, description="Redis or Valkey to keep sessions, last rounds and claims in instead of PostgreSQL."
    )
    short_term_bytes: int = Field(
        default=1_000_000_000,
        ge=1_000_000,
        description="Bytes that short-term memory may take before an alert fires (docs/monitoring.md); Redis' own maxmemory goes before it.",
    )
    data_dir: Path = Field(default=Path(".discreet"), description="Folder of the embedded server's data and keys.")
    postgres_version: int = Field(default=18, description="Major version of the embedded server: 16 or 18.")
    pool_size: int = Field(default=6, ge=1, le=100, description="Database connections a process may hold.")
    max_waiting: int = Field(
        default=1_000, ge=0, description="Callers that may wait for a database connection; one more is refused at once."
    )
    pooler: Pooler = Field(
        default="auto",
        description="Whether a pooler in transaction mode is before the database: nothing is prepared or set there. auto notices one.",
    )
    db_schema: Identifier = Field(
        default="discreet",
        validation_alias=AliasChoices("DISCREET_SCHEMA"),
        description="Schema of the database that the tables are in; `discreet migrate` makes it.",
    )
    encryption_keys: SecretStr | None = Field(
        default=None, description="Keys as id:base64 of 32 bytes, comma-separated; the first seals, all open."
    )
    encryption_keys_file: Path | None = Field(
        default=None,
        description="File of such keys instead, one a line, that nobody else may read (0600); followed while the process runs.",
    )
    key_provider: str | None = Field(
        default=None,
        description="module:function that returns the keys instead, as from a key management service.",
    )
    placeholder_key: SecretStr | None = Field(
        default=None,
        description="Base64 of 32 random bytes that tell placeholders of a thread apart. Default: a key file in the data folder.",
    )
    recognisers: Texts = Field(
        default=(), description="Further recognisers of sensitive values, as a JSON list of module:attribute."
    )
    internal_id_patterns: Texts = Field(
        default=(), description="Regular expressions (RE2) of your organisation's own ids, as a JSON list."
    )
    phone_regions: Texts = Field(
        default=(), description="Regions whose telephone numbers are known without a country code, as a JSON list."
    )
    sensitive_ids: Literal["refuse", "hash"] = Field(
        default="refuse",
        description="What becomes of a user_id or thread_id that holds a sensitive value, such as an e-mail address or a telephone number: refuse, or hash, for a keyed digest.",
    )
    unmasked_types: Texts = Field(
        default=(), description='Types of values that are stored as they are, as a JSON list such as ["ADDRESS"].'
    )
    spill: bool | None = Field(
        default=None,
        description="Keep paused turns encrypted in the database, so that another process can resume. Unset: where a saver is made `from_storage` and there are keys.",
    )
    keep_closed: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="Finished turns of a thread that stay whole in RAM, to fork; `discreet dev`: 20.",
    )
    pause_seconds: float = Field(
        default=3600,
        ge=60,
        le=604_800,
        description="Seconds that a person may take to answer a paused turn; its real values live as long.",
    )

    turn_vault: Literal["memory", "postgres", "redis"] = Field(
        default="memory",
        description="Where the real values of a running turn are: this process's memory, or, sealed, where several processes share them.",
    )
    vault_seconds: float = Field(
        default=3600,
        ge=60,
        le=3600,
        description="Seconds after a thread's last turn for which its placeholders still stand for real values.",
    )

    jwt_secret: SecretStr | None = Field(default=None, description="Secret that bearer tokens are signed with (HS256).")
    jwks_url: str | None = Field(
        default=None, description="Address of the public keys (JWKS) that bearer tokens are signed with."
    )
    jwt_issuer: str | None = Field(default=None, description="Issuer that bearer tokens must name.")
    jwt_audience: str | None = Field(default=None, description="Audience that bearer tokens must name.")
    api_keys: Texts = Field(
        default=(), description="API keys as a JSON list of subject:sha256, as `discreet key --api` makes them."
    )
    admins: Texts = Field(
        default=(), description="Subjects who may change settings and see the admin page, as a JSON list."
    )
    trusted_proxies: Texts = Field(
        default=(),
        description="Proxies whose X-Forwarded-For is believed where attempts to sign in are counted: addresses and networks, as a JSON list.",
    )
    allow_anonymous: bool = Field(
        default=False, description="Take requests from this machine without a token. Refused from anywhere else."
    )
    identity_key: SecretStr | None = Field(
        default=None,
        description="Base64 of 32 random bytes that make subjects opaque in the database. Default: a key file in the data folder.",
    )
    restore_replies: bool = Field(
        default=True, description="Put real values back into the live answer that goes to their owner."
    )
    max_body_bytes: int = Field(
        default=30_000_000, ge=1_000, description="Largest body of a request that the server takes."
    )
    playground: bool = Field(
        default=False,
        description="Serve the playground to browsers on this machine, where LangGraph Studio is let in too. `discreet dev` does.",
    )
    tracing: Literal["off", "hidden"] = Field(
        default="off",
        description="What LangSmith may get if its own variables turn tracing on: nothing, or steps and times without any text.",
    )

    log_format: Literal["json", "text"] | None = Field(
        default=None, description="Form of log lines: json or text. Default: what the server has set up, else text."
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65_535,
        description="Port that shows this process's metrics to a scraper, without any credential.",
    )
    metrics_host: str = Field(default="127.0.0.1", description="Address that this port is opened on.")
    metrics_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Bearer token, of 16 characters at least, that may read GET /memory/metrics and nothing else.",
    )

    otel: bool = Field(
        default=False,
        description="Send spans without text by OpenTelemetry's OTLP exporter; its own variables say where. Needs the extra otel.",
    )

    chat_model: str | None = Field(
        default=None, description="Chat model as provider:model. Default: the offline model; a key names none."
    )
    embedding_model: str | None = Field(
        default=None,
        description="Embedding model as provider:model, or none: search by words. Default: the local one where it is installed, else none.",
    )
    embedding_dims: int | None = Field(default=None, ge=8, le=4000, description="Vector size asked of the provider.")
    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("DISCREET_OPENAI_API_KEY", "OPENAI_API_KEY"),
        description="Key for OpenAI or a compatible server.",
    )
    openai_api_keys: SecretStr | None = Field(
        default=None,
        description="Further keys, comma-separated: requests take turns, and one that is refused or used up is passed over.",
    )
    openai_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("DISCREET_OPENAI_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
        description="Any OpenAI-compatible endpoint.",
    )

    fallback_model: str | None = Field(
        default=None,
        description="Chat model as provider:model that answers while the other one is overloaded or can't be reached.",
    )
    model_retry_seconds: float = Field(
        default=20.0,
        ge=0,
        description="Seconds a turn waits, in all, for a chat model that is overloaded; 0: not at all.",
    )

    extraction: bool = Field(default=True, description="Extract facts from conversations in the background.")
    extraction_provider: Literal["openai", "anthropic", "google", "immediate", "offline"] | None = Field(
        default=None,
        description="Who extracts: a batch at openai, anthropic or google, a chat model (immediate), or rules (offline). Default: offline.",
    )
    extraction_model: str | None = Field(
        default=None,
        description="Model that extracts; for immediate as provider:model. Default: a small one of its provider.",
    )
    extraction_review: bool = Field(default=False, description="Let what was extracted wait until somebody accepts it.")
    worker: bool = Field(
        default=False, description="Run a worker of background memory in the server's process. `discreet dev` does."
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("DISCREET_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        description="Key for batches at Anthropic.",
    )
    anthropic_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("DISCREET_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
        description="Another endpoint for them.",
    )
    google_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("DISCREET_GOOGLE_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"),
        description="Key for batches at Google (Gemini).",
    )
    google_base_url: str | None = Field(default=None, description="Another endpoint for them.")

    gate_model: str | None = Field(
        default=None,
        description="Small chat model as provider:model for what the gate's rules leave open. Default: a local score.",
    )
    gate_timeout: float = Field(
        default=1.0, gt=0, description="Seconds before the gate goes on without its small model."
    )

    default_user: str | None = Field(
        default=None, description="user_id for runs that name none. Leave unset where several people share a server."
    )
    anonymous_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days for which conversations without a user_id are kept, from their first turn; 0: until they are deleted.",
    )
    retention_session_minutes: int = Field(
        default=5, ge=1, le=60, description="Minutes after its last message for which a session counts as active."
    )
    retention_history_hours: int = Field(
        default=24, ge=1, le=168, description="Hours for which the last rounds of a session are at hand."
    )
    retention_log_days: int = Field(
        default=0, ge=0, le=36_500, description="Days for which the log has a turn; 0: no turn goes by its age."
    )
    retention_checkpoint_days: int = Field(
        default=0,
        ge=0,
        le=36_500,
        description="Days for which checkpoints stay, and threads after their last one; 0: none goes by its age.",
    )
    retention_turn_days: int = Field(
        default=0,
        ge=0,
        le=36_500,
        description="Days for which turns are found by search; 0: no turn goes by its age.",
    )
    retention_reasoning_days: int = Field(
        default=1_095, ge=0, le=36_500, description="Days for which reasoning stays that was posted; 0: it does not go."
    )
    retention_batch_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days for which batches and their prompts are known after their end; 0: they do not go.",
    )
    retention_proposal_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days for which a memory waits until somebody accepts it; 0: however long.",
    )
    retention_audit_days: int = Field(
        default=1_095, ge=365, le=3_650, description="Days for which the audit trail has an entry."
    )
    backup_days: int = Field(
        default=30, ge=0, description="Days for which backups of the database are kept: receipts of erasures say so."
    )
    wal_days: int = Field(default=7, ge=0, description="Days for which its write-ahead log is kept, likewise.")
    provider_days: int = Field(
        default=30, ge=0, description="Days for which model providers keep what they were sent, likewise."
    )
    audit: bool = Field(default=True, description="Keep the audit trail: who did what to whose data.")
    audit_anchor_file: Path | None = Field(
        default=None, description="File that seals of the audit trail are added to, best on another machine."
    )
    audit_anchor_url: SecretStr | None = Field(
        default=None, description="Address of your own that seals of the audit trail are posted to."
    )
    context_window_size: int | None = Field(
        default=None,
        ge=1_000,
        le=10_000_000,
        description="Tokens that the chat model takes, its answer included. Default: as its profile says, else 32,000.",
    )
    retrieve_limit: int = Field(default=5, ge=1, le=50, description="Memories put into the prompt at most.")
    retrieve_threshold: float | None = Field(
        default=0.6, ge=0, le=1, description="Least calibrated score of a memory that shares no word with the question."
    )
    fusion: Literal["convex", "rrf"] = Field(
        default="convex", description="How search by words and by meaning are made one order: convex or rrf."
    )
    shared_apps: Texts = Field(
        default=(), description="Applications whose memories are read besides one's own, as a JSON list."
    )
    dedup_threshold: float = Field(
        default=0.85, ge=0, le=1, description="Similarity above which a new fact may supersede a stored one."
    )
    update_threshold: float = Field(
        default=0.95, ge=0, le=1, description="Similarity above which a fact counts as said again and is refreshed."
    )
    reembed: bool = Field(
        default=True, description="Re-embed in the background what another embedding model or size has made."
    )
    max_memories_per_user: int = Field(
        default=1_000, ge=1, description="Memories a user may have, conversation turns apart; then the least useful go."
    )
    retrieve_timeout: float = Field(default=2.0, gt=0, description="Seconds before a turn goes on without memories.")
    max_input_chars: int = Field(default=20_000, ge=1, description="Longest text message taken.")
    dedup_seconds: float = Field(
        default=3.0,
        ge=0,
        le=60,
        description="On a server: the same message of a user in the same thread within so many seconds is one turn; 0: never.",
    )
    max_media_bytes: int = Field(default=20_000_000, ge=1, description="Largest voice or image message taken.")
    tool_loop_limit: int = Field(default=8, ge=1, le=100, description="Rounds of tool calls in one turn.")
    mcp_calls_per_minute: int = Field(
        default=120, ge=1, le=100_000, description="Calls of tools that `discreet mcp` takes from one user."
    )

    @property
    def openai_keys(self) -> tuple[SecretStr, ...]:
        """All keys for OpenAI, each once."""
        given = [key.get_secret_value() for key in (self.openai_api_key, self.openai_api_keys) if key is not None]
        return tuple(map(SecretStr, dict.fromkeys(key.strip() for key in ",".join(given).split(",") if key.strip())))


def load_settings() -> Settings:
    """Read the settings from the environment. Where nothing of it has changed since the last time, they are the same object.

    Raises:
        WrongSettingsError: Variables have values that can't be used; it names all of them, and never a value.
    """
    try:
        status = Path(".env").stat()
        written = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    except OSError:
        written = None
    # A `.env` may refer to any variable, as in `postgresql://app:${PASSWORD}@db/app`.
    known = _variables() if written is None else None
    read = frozenset(each for each in os.environ.items() if known is None or each[0].upper() in known)
    return _settings_of(read, written)


def use_data_folder(folder: Path) -> None:
    """Have the settings of this process, and of those that it starts, name `folder` as the data folder from here on."""
    os.environ["DISCREET_DATA_DIR"] = str(folder.absolute())


def embedded_only(settings: Settings) -> Settings:
    """Return `settings` without the databases that they name: the embedded server and this process take their place."""
    named = ("postgres_dsn", "postgres_read_dsn", "postgres_worker_dsn", "postgres_owner_dsn", "redis_url")
    return settings.model_copy(update={**dict.fromkeys(named), "turn_vault": "memory"})


@lru_cache(maxsize=1)
def _settings_of(_environment: frozenset[tuple[str, str]], _file: tuple[int, ...] | None) -> Settings:
    """Read what the arguments tell apart. It takes 15 ms, and many parts of a process ask."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = [(_variable(str(e["loc"][0])), e["msg"]) for e in error.errors(include_input=False)]
        raise WrongSettingsError(wrong) from None


def _variable(location: str) -> str:
    """Return the environment variable of a setting; pydantic names a field that has aliases by the one it met."""
    prefix = str(Settings.model_config["env_prefix"])
    return f"{prefix}{location}".upper() if location in Settings.model_fields else location.upper()


@lru_cache(maxsize=1)
def _variables() -> frozenset[str]:
    """Return the environment variables of all settings, in capitals."""
    prefix = str(Settings.model_config["env_prefix"])
    return frozenset(
        str(choice).upper()
        for name, field in Settings.model_fields.items()
        for choice in (
            field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [f"{prefix}{name}"]
        )
    )


def unknown_variables() -> dict[str, str | None]:
    """Return the names beginning with DISCREET_ in the environment and in `.env` that no setting has, with the nearest that one has."""
    prefix = str(Settings.model_config["env_prefix"])
    known = _variables()
    said = {name.upper() for name in (*os.environ, *dotenv_values(".env"))}
    unknown = sorted(name for name in said - known if name.startswith(prefix))
    rests = {name.removeprefix(prefix): name for name in known}
    near = {name: get_close_matches(name.removeprefix(prefix), rests, 1) for name in unknown}
    return {name: rests[found[0]] if found else None for name, found in near.items()}


class Tracing(BaseSettings):
    """What LangSmith's tracing is told by the environment, and by a `.env` that a server is started with."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True)

    langsmith_tracing: str | None = None
    langsmith_tracing_v2: str | None = None
    langchain_tracing_v2: str | None = None
    langchain_tracing: str | None = None
    langsmith_api_key: SecretStr | None = None
    langchain_api_key: SecretStr | None = None
    langsmith_hide_inputs: str | None = None
    langchain_hide_inputs: str | None = None
    langsmith_hide_outputs: str | None = None
    langchain_hide_outputs: str | None = None

    @property
    def on(self) -> bool:
        """Whether runs are traced. LangGraph's server traces as soon as there is a key and nobody says otherwise."""
        said = (self.langsmith_tracing, self.langsmith_tracing_v2, self.langchain_tracing_v2, self.langchain_tracing)
        given = [each for each in said if each is not None]
        if not given:
            return bool(self.langsmith_api_key or self.langchain_api_key)
        return any(each.strip().lower() not in {"false", "0", "no", "off", "f", "n"} for each in given)

    @property
    def hidden(self) -> bool:
        """Whether inputs and outputs stay here. LangSmith's client takes nothing but `true` for a yes."""
        inputs = self.langsmith_hide_inputs or self.langchain_hide_inputs
        outputs = self.langsmith_hide_outputs or self.langchain_hide_outputs
        return inputs == outputs == "true"


def load_tracing() -> list[Tracing]:
    """Return what holds for a process that reads `.env` and for one that does not: a server and a script."""
    return [Tracing(), Tracing(_env_file=None)]


def metrics_folder() -> Path | None:
    """Return the folder that processes put their metrics in for each other, as prometheus_client reads it; None if there is none."""
    named = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    return Path(named) if named else None


def child_environment(**values: str) -> dict[str, str]:
    """Return this process's environment for a child process, with `values` where it does not set them itself."""
    return {**values, **os.environ}
