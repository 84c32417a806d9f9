"""Every error that Discreet raises on purpose.

DiscreetError
├── ConfigurationError            settings that can't work together, or a name nobody knows
│   ├── MissingDependencyError    an optional package is needed and not installed
│   ├── UntestedServerError       a server whose inside is wired runs in a release that nobody tried
│   ├── ProjectFolderError        a project can't be started in a folder
│   └── WrongSettingsError        environment variables have values that can't be used; it names all of them
├── InputError                    the caller's message is refused; nothing of it is kept
│   ├── EmptyInputError
│   ├── InputTooLargeError
│   ├── UnsupportedInputError
│   ├── MessageIdReusedError      its id is that of another message of the thread
│   ├── MediaSummaryUnavailableError
│   ├── ContextWindowError
│   ├── InvalidUserError
│   ├── InvalidThreadError
│   ├── SensitiveIdError          a user_id or thread_id holds personal data or a secret
│   ├── InvalidContextError
│   ├── UndecodableInputError
│   └── InvalidJsonLineError
├── AccessError                   who calls is not known, or may not do this
│   ├── UnauthorisedError
│   └── ForbiddenError
├── RequestError                  a request to the REST API is refused; nothing of it is kept
│   ├── MalformedRequestError
│   ├── InvalidRequestError
│   ├── NotFoundError
│   ├── KeyReusedError
│   ├── StillWorkingError
│   ├── ThreadBusyError
│   ├── BodyTooLargeError
│   └── MediaTypeError
├── RunFailedError                a graph failed; of its own error only the class is told
├── SettingRefusedError           a setting kept in the database can't have this value
├── MemoryRefusedError            a text that must not become a memory
│   ├── InvalidRecordError
│   ├── EntryExistsError
│   ├── FeedbackLimitError
│   ├── SecretRefusedError
│   └── CopiedFromToolError
├── CallLimitError                a user calls tools more often than they may
├── UnclearForgettingError        forgetting was asked for without saying what, or of two things at once
├── UnclearErasureError           an erasure is asked for without saying what, or of two things at once
├── UnresolvedPlaceholderError    a tool was to run with a placeholder in the place of a value
├── CheckpointError
│   ├── LeakBlockedError          something raw was about to be written; it was not
│   ├── ThreadDeletedError        the thread of what was about to be stored was deleted meanwhile
│   └── TransientStateLostError   a checkpoint, or a paused turn, that lived in a process that is gone
│       └── PauseExpiredError     a paused turn that waited longer than it could
├── StorageError
│   ├── StorageUnavailableError   the database can't do the work now; of no closer kind: it can't be reached
│   │   ├── StorageBusyError      too many wait for a connection of this process's pool already
│   │   │   └── UserBusyError     too many wait to write for one user
│   │   ├── StorageClosedError    it is closed, or the pool that it works on
│   │   │   └── ForkedProcessError it was opened before the process forked
│   │   ├── LoginRefusedError     the server answers, and lets this role or password not in
│   │   ├── UnverifiedServerError the server's certificate is not what the DSN asks for
│   │   ├── TooManyConnectionsError
│   │   ├── ServerRestartingError it starts, stops, or ended the session
│   │   ├── StatementTimeoutError
│   │   ├── LockTimeoutError
│   │   ├── ReadOnlyServerError   a standby, or a role that may only read
│   │   ├── ServerFullError       its disk or memory is used up
│   │   └── PoolerError           what is between here and the server failed
│   ├── LeaseLostError            another worker has taken over what this one was at
│   ├── UserErasedError           all of a user was erased while something was under way for them
│   ├── AuditChainError           a user's chain of the audit trail takes no more entries
│   ├── UnsupportedServerError    PostgreSQL or pgvector is too old
│   ├── MigrationError
│   │   └── NewerDatabaseError    a newer Discreet has changed the tables; this one does not know how
│   ├── EmbeddedServerError       the bundled server can't be started
│   │   ├── UpgradeNeededError    its data is of an older major version
│   │   └── ServerInUseError      other processes use it, and must not now
│   └── ShortTermError            sessions, last rounds and claims can't be reached
│       ├── RedisRefusedError     Redis knows nobody by that name and password, or they may not do that
│       ├── RedisClusterError     a cluster is not whole, or DISCREET_REDIS_URL takes one for the other
│       └── UnverifiedRedisError  the certificate of Redis can't be verified
├── InvalidFilterError            a search of the store has a filter that can't be understood
├── InvalidVectorError            a vector is none of the store's: its length, or a number of it
├── TransientEntryError           a key or a time to live that transient state does not take
├── ProviderError                 a chat or embedding model failed
├── DelegationError               a right to read can't be given so
├── ExportError                   an export can't be written, gone on with or read
├── ImportSourceError             a source of an import can't be read, or a row of it not be stored
├── ScanError                     a database or file can't be scanned or scrubbed
├── ReceiptError                  this is no receipt of an erasure, or it was changed
├── AuditAnchorError              a seal of the audit trail could not be kept outside of the database
└── EncryptionError               a sealed value can't be opened

An error's default message is its class docstring. No message ever holds user text, memory text or a secret: what a
handler needs is in the attributes. `code` is stable and is what an API shows.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar


class DiscreetError(RuntimeError):
    """Something in Discreet failed.

    It is a RuntimeError because LangGraph's server tells clients what an error says of such built-in classes only, and ours
    hold no user text.
    """

    code: ClassVar[str] = "discreet_error"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or ""))


class ConfigurationError(DiscreetError):
    """A setting is missing or wrong."""

    code = "configuration"


class MissingDependencyError(ConfigurationError):
    """An optional package is needed here and is not installed."""

    code = "missing_dependency"


class UntestedServerError(ConfigurationError):
    """This release of the server was not tried: whether it takes our checkpointer and store is not known."""

    code = "untested_server"


class WrongSettingsError(ConfigurationError):
    """Some settings can't be used."""

    code = "wrong_settings"

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(f"These settings can't be used: {'; '.join(f'{name}: {why}' for name, why in problems)}")
        self.problems = tuple(problems)
        """Variables, and what is wrong with each; never a value."""


class ProjectFolderError(ConfigurationError):
    """A project can't be started in this folder."""

    code = "project_folder"

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(f"{folder} {why}. Name another folder: discreet init DIR")
        self.folder = folder


class InputError(DiscreetError):
    """The message can't be taken as it is."""

    code = "input"

    fields: Sequence[tuple[str, str]] = ()
    """(field, problem) where it came in a request that has fields."""


class EmptyInputError(InputError):
    """The message is empty. Send a human message with some text, or media with a summary."""

    code = "input_empty"


class InputTooLargeError(InputError):
    """The message is too large."""

    code = "input_too_large"

    def __init__(self, size: int, limit: int, unit: str = "characters") -> None:
        self.size, self.limit, self.unit = size, limit, unit
        setting = "DISCREET_MAX_INPUT_CHARS" if unit == "characters" else "DISCREET_MAX_MEDIA_BYTES"
        super().__init__(
            f"The message has {size:,} {unit}; at most {limit:,} are taken. Shorten it, or raise {setting}."
        )


class UnsupportedInputError(InputError):
    """The message is of a type that can't be taken. Send a human message with text, image or audio blocks."""

    code = "input_unsupported"


class MessageIdReusedError(InputError):
    """The message's id belongs to another message of the thread. Nothing was changed: take a new id for a new message."""

    code = "message_id_reused"


class MediaSummaryUnavailableError(InputError):
    """Voice and images are kept as a short summary only, and nothing here can make one.

    Send a transcript or caption along with the media, or configure a chat model that takes this kind of media.
    """

    code = "media_summary_unavailable"


class ContextWindowError(InputError):
    """The model's context window has no room for the instructions and the message."""

    code = "context_window"

    def __init__(self, *, window: int, instructions: int, message: int, least: int) -> None:
        """Take tokens."""
        self.window, self.instructions, self.message = window, instructions, message
        super().__init__(
            f"The context window has {window:,} tokens. Instructions and tools take {instructions:,} of them, the message "
            f"with its tool calls {message:,}, and {least:,} more are needed. Send less at a time, or set "
            "DISCREET_CONTEXT_WINDOW_SIZE to what the model takes."
        )


class InvalidUserError(InputError):
    """The user_id is not usable. Give 1 to 200 printable characters, an int or a UUID, as Context(user_id=…)."""

    code = "user_invalid"


class InvalidThreadError(InputError):
    """The thread_id is not usable. Give text, an int or a UUID, as {"configurable": {"thread_id": …}}; None would be a thread that all share."""

    code = "thread_invalid"


class SensitiveIdError(InputError):
    """An id holds personal data or a secret."""

    code = "id_sensitive"

    def __init__(self, kind: str, found: str) -> None:
        super().__init__(
            f"The {kind} holds a sensitive value ({found}), and would be stored and logged as it is. Give an id of your own, or set "
            "DISCREET_SENSITIVE_IDS=hash, and a keyed digest stands for it (docs/identifiers.md)."
        )
        self.kind = kind
        """`user_id` or `thread_id`."""
        self.found = found
        """Type of the value, such as `EMAIL`."""


class InvalidContextError(InputError):
    """The context of the run has fields that can't be taken."""

    code = "context_invalid"

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        """Take (field, problem) pairs; neither part may hold what the caller sent."""
        self.fields = tuple(fields)
        said = "; ".join(f"{field} {problem}" for field, problem in fields)
        super().__init__(f"The context of the run can't be taken: {said}.")


class UndecodableInputError(InputError):
    """The input is not UTF-8."""

    code = "input_encoding"

    def __init__(self, source: str, offset: int) -> None:
        self.source, self.offset = source, offset
        super().__init__(
            f"{source} is not UTF-8: the byte at offset {offset:,} can't be read. Convert it (iconv -t utf-8)."
        )


class InvalidJsonLineError(InputError):
    """A line is not one JSON value."""

    code = "input_json_line"

    def __init__(self, source: str, line: int) -> None:
        self.source, self.line = source, line
        super().__init__(
            f"Line {line:,} of {source} is not one JSON value. What stood before it is redacted and printed."
        )


class AccessError(DiscreetError):
    """This caller may not do this."""

    code = "access"


class UnauthorisedError(AccessError):
    """Who calls is not known. Send a bearer token, or an API key as `X-API-Key`."""

    code = "unauthorised"


class ForbiddenError(AccessError):
    """This belongs to somebody else, or takes an administrator."""

    code = "forbidden"

    def __init__(self, message: str | None = None, *, whose: str | None = None) -> None:
        super().__init__(message)
        self.whose = whose
        """Whose it is, as the database knows them; None: that isn't known, or nobody's in particular."""


class RequestError(DiscreetError):
    """The request can't be taken as it is."""

    code = "request"


class MalformedRequestError(RequestError):
    """The request can't be read. Send one JSON value in UTF-8."""

    code = "request_malformed"


class InvalidRequestError(RequestError):
    """Some fields have values that can't be taken; `fields` says which, and what is wrong with each."""

    code = "request_invalid"

    def __init__(self, fields: Sequence[tuple[str, str]] = (), message: str | None = None) -> None:
        """Take (field, problem) pairs; neither part may hold what the caller sent."""
        self.fields = tuple(fields)
        super().__init__(message or "Some fields have values that can't be taken. Nothing was stored.")


class NotFoundError(RequestError):
    """There is nothing of that id, or it is not yours."""

    code = "not_found"


class KeyReusedError(RequestError):
    """The Idempotency-Key belongs to another request. Take a new key for a new request."""

    code = "idempotency_key_reused"


class StillWorkingError(RequestError):
    """The first request with this Idempotency-Key is still under way. Ask again in a moment."""

    code = "idempotency_running"


class ThreadBusyError(RequestError):
    """The thread has a run that is not over, and this request was not to wait for it, or not for so long."""

    code = "thread_busy"


class BodyTooLargeError(RequestError):
    """The body is too large."""

    code = "body_too_large"

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"The body has more than {limit:,} bytes. Send less at a time.")


class MediaTypeError(RequestError):
    """The body is of a type that can't be taken. Send JSON, as Content-Type: application/json."""

    code = "media_type"


class RunFailedError(DiscreetError):
    """The run failed."""

    code = "run_failed"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"The run failed with {kind}. What it said may hold somebody's text and is not shown. Catch it in the node to "
            "see more."
        )


class SettingRefusedError(DiscreetError):
    """A setting can't have this value. Nothing was changed."""

    code = "setting_invalid"

    def __init__(self, message: str | None = None, fields: Sequence[tuple[str, str]] = ()) -> None:
        """Take (setting, problem) pairs besides; neither part may hold what the caller sent."""
        self.fields = tuple(fields)
        super().__init__(message)


class MemoryRefusedError(DiscreetError):
    """This text is not kept as a memory."""

    code = "memory_refused"


class InvalidRecordError(MemoryRefusedError):
    """A memory record has a field that can't be stored."""

    code = "memory_invalid"


class EntryExistsError(MemoryRefusedError):
    """There is an entry of that id already. It was not changed; leave `entry_id` out to store another."""

    code = "entry_exists"


class FeedbackLimitError(MemoryRefusedError):
    """The entry has as much feedback as one can have. Nothing was added."""

    code = "feedback_limit"


class SecretRefusedError(MemoryRefusedError):
    """The text holds a password, key or token. Secrets are never kept as memories."""

    code = "memory_secret"


class CopiedFromToolError(MemoryRefusedError):
    """The text comes from a tool's result, not from the user. Tool data is never kept as a memory."""

    code = "memory_tool_data"


class CallLimitError(DiscreetError):
    """More calls than one user may make. Nothing was done."""

    code = "call_limit"

    def __init__(self, seconds: float) -> None:
        self.retry_after_seconds = max(1, math.ceil(seconds))
        """When there is a call again."""
        super().__init__(
            f"These are more calls than one user may make in a minute (DISCREET_MCP_CALLS_PER_MINUTE). Nothing was done: try "
            f"again in {self.retry_after_seconds} seconds."
        )


class UnclearForgettingError(DiscreetError):
    """Nothing was forgotten. Give either entry_id, of a memory that recall_memory found, or text, of what was only said."""

    code = "forget_unclear"


class UnclearErasureError(DiscreetError):
    """An erasure is asked for without saying what: all of a user, what is recent, one thread, one memory, or what they said."""

    code = "unclear_erasure"


class UnresolvedPlaceholderError(DiscreetError):
    """A tool was to run with a placeholder in the place of a value."""

    code = "unresolved_placeholder"

    def __init__(self, kinds: Iterable[str]) -> None:
        """Take the types of the placeholders."""
        self.kinds = tuple(sorted(kinds))
        super().__init__(
            f"The arguments have placeholders ({', '.join(self.kinds)}) in the place of values that are not known any more. "
            "The tool was not run. Ask the user for the values, and don't make them up."
        )


class CheckpointError(DiscreetError):
    """A checkpoint could not be written or read."""

    code = "checkpoint"


class LeakBlockedError(CheckpointError):
    """A value that must never reach the database was about to be written. It was not, and nothing else was."""

    code = "leak_blocked"


class ThreadDeletedError(CheckpointError):
    """The thread was deleted while its run was under way; nothing was stored. A new run may use its id.

    The savers drop what such a run goes on to store, so only who calls a tier by itself meets this.
    """

    code = "thread_deleted"

    def __init__(self, deleted_at: datetime | None = None) -> None:
        """`deleted_at`: when, by the clock that deletions of this thread are told apart by."""
        super().__init__()
        self.deleted_at = deleted_at


class TransientStateLostError(CheckpointError):
    """The checkpoint or paused turn is not there: it is over, or in the memory of another process, or of one that is gone. Send the message again.

    With keys any process resumes a pause: RedactingSaver.from_storage(…) and DISCREET_ENCRYPTION_KEYS, or DISCREET_SPILL=true.
    """

    code = "transient_state_lost"


class PauseExpiredError(TransientStateLostError):
    """The paused turn waited longer than pause_seconds (DISCREET_PAUSE_SECONDS) allows. Send the message again."""

    code = "pause_expired"

    def __init__(self, until: str) -> None:
        self.until = until
        super().__init__(
            f"The paused turn could be answered until {until}. Send the message again, or let turns wait longer: "
            "pause_seconds=… of the saver, or DISCREET_PAUSE_SECONDS."
        )


class StorageError(DiscreetError):
    """The database refused the work."""

    code = "storage"


class StorageUnavailableError(StorageError):
    """The database can't be reached. Check DISCREET_POSTGRES_DSN, or unset it to use the embedded server."""

    code = "storage_unavailable"


class StorageBusyError(StorageUnavailableError):
    """All database connections of this process are in use."""

    code = "storage_busy"

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting
        waits = f", and {waiting:,} callers wait for one already" if waiting else ""
        super().__init__(
            f"All database connections of this process are in use{waits}. The database itself may be well. Try again in a "
            "moment; should this last, add processes, or raise DISCREET_POOL_SIZE as far as the server's connections go "
            "(DISCREET_MAX_WAITING bounds the line)."
        )


class UserBusyError(StorageBusyError):
    """Too much is being written for one user at once."""

    code = "user_busy"

    def __init__(self, waiting: int = 0) -> None:
        self.waiting = waiting
        line = f", and {waiting:,} wait already" if waiting else ""
        StorageError.__init__(
            self,
            f"Others are writing for this user{line}. Nothing was stored: try again in a moment, and save in batches.",
        )


class StorageClosedError(StorageUnavailableError):
    """The storage, or the connection pool that it works on, is closed. Open it anew, and close it when its last call is over."""

    code = "storage_closed"


class ForkedProcessError(StorageClosedError):
    """The storage was opened before this process forked, and its connections belong to the process that opened it.

    Open it in each process: after the fork, or without gunicorn's preload_app.
    """

    code = "storage_forked"


class UserErasedError(StorageError):
    """What is kept of this user was erased, all of it or in part, while this was under way: nothing was stored.

    What the user wants to say they say in a new message.
    """

    code = "user_erased"


class AuditChainError(StorageError):
    """Nothing was stored: where the audit trail's next entry for this user belongs there is one already.

    Somebody put it there, or changed the head of the chain. `discreet audit verify` says where; docs/audit.md has the repair.
    """

    code = "audit_chain"


class LeaseLostError(StorageError):
    """Another worker has taken over this piece of work, or it is done: nothing of it was changed here."""

    code = "lease_lost"


class LoginRefusedError(StorageUnavailableError):
    """The database answers and refuses the login. Check role, password, database and pg_hba.conf."""

    code = "storage_login"


class UnverifiedServerError(StorageUnavailableError):
    """The database can't be verified as the DSN asks for. Check its sslmode, sslrootcert and host name."""

    code = "storage_tls"


class TooManyConnectionsError(StorageUnavailableError):
    """The database takes no more connections. Lower DISCREET_POOL_SIZE, raise max_connections, or put a pooler in between."""

    code = "storage_connections"


class ServerRestartingError(StorageUnavailableError):
    """The database is starting or stopping, or an administrator ended the session. Try again in a moment."""

    code = "storage_restarting"


class StatementTimeoutError(StorageUnavailableError):
    """The database ended work that took longer than its statement_timeout allows. Nothing of it was stored; raise it, or see what was slow."""

    code = "storage_timeout"


class LockTimeoutError(StorageUnavailableError):
    """Others held a lock for longer than is waited for one. Nothing was stored; try again in a moment."""

    code = "storage_locked"


class ReadOnlyServerError(StorageUnavailableError):
    """The database can only be read: it is a standby, or default_transaction_read_only is on. Nothing was stored; write to the primary."""

    code = "storage_read_only"


class ServerFullError(StorageUnavailableError):
    """The database has no disk space or memory left. Nothing was stored; make room on its server."""

    code = "storage_full"


class PoolerError(StorageUnavailableError):
    """The pooler between here and the database refused or broke off. Its log says why."""

    code = "storage_pooler"


class UnsupportedServerError(StorageError):
    """The PostgreSQL server is too old or lacks pgvector."""

    code = "storage_unsupported"


class MigrationError(StorageError):
    """The database's schema could not be brought up to date."""

    code = "migration"


class NewerDatabaseError(MigrationError):
    """A newer Discreet has migrated this database."""

    code = "migration_newer"

    def __init__(self, unknown: Sequence[str], needs: str, this: str) -> None:
        self.unknown = unknown
        """Names of the migrations that this version does not know, in their order."""
        self.needs = needs
        """Version of Discreet that applied the last of them."""
        super().__init__(
            f"Discreet {needs} has migrated this database ({', '.join(unknown)}), and this is Discreet {this}, which does not "
            f"know its tables any more. Install Discreet {needs} or newer, or restore the dump made before that migration."
        )


class EmbeddedServerError(StorageError):
    """The embedded PostgreSQL server can't be used."""

    code = "embedded_server"


class UpgradeNeededError(EmbeddedServerError):
    """The embedded server's data is of an older major version of PostgreSQL. Run `discreet upgrade`."""

    code = "embedded_upgrade"

    def __init__(self, data_dir: object, found: int, asked: int) -> None:
        self.found, self.asked = found, asked
        super().__init__(
            f"{data_dir} holds data of PostgreSQL {found}, and {asked} is asked for. `discreet upgrade` takes it along; "
            f"DISCREET_POSTGRES_VERSION={found} goes on with {found}."
        )


class ServerInUseError(EmbeddedServerError):
    """Other processes use the embedded server. End them and try again."""

    code = "embedded_in_use"

    def __init__(self, folder: object) -> None:
        super().__init__(f"Other processes use the server of {folder}. End them and try again.")


class ShortTermError(StorageError):
    """The short-term store can't be reached, or refused. Turns go on without it."""

    code = "short_term"


class RedisRefusedError(ShortTermError):
    """Redis refused (NOAUTH, WRONGPASS or NOPERM): give DISCREET_REDIS_URL the user, the password and, on the server, the rights of docs/short_term.md; `discreet doctor` looks again."""

    code = "short_term_refused"


class RedisClusterError(ShortTermError):
    """The cluster of Redis does not serve all slots (CLUSTERDOWN): it was not made whole, or a server is gone and none has taken over. `CLUSTER INFO` tells; turns go on without it."""

    code = "short_term_cluster"


class UnverifiedRedisError(ShortTermError):
    """Redis can't be verified. Name its authority by ssl_ca_certs=/path in DISCREET_REDIS_URL, and the host as its certificate does."""

    code = "short_term_tls"


class InvalidFilterError(DiscreetError, ValueError):
    """The filter can't be understood. It is a ValueError too, which LangGraph's stores raise."""

    code = "filter_invalid"


class InvalidVectorError(DiscreetError, ValueError):
    """The vector can't be compared with those of this store. Nothing was stored."""

    code = "vector_invalid"


class TransientEntryError(DiscreetError, ValueError):
    """The key or the time to live is not one that transient state takes."""

    code = "transient_entry"


class ProviderError(DiscreetError):
    """A model provider failed."""

    code = "provider"

    def __init__(self, message: str | None = None, *, is_passing: bool = True) -> None:
        super().__init__(message)
        self.is_passing = is_passing
        """Whether the same may succeed later: it is overloaded, or can't be reached."""


class DelegationError(DiscreetError):
    """A right to read can't be given so. Nothing was changed."""

    code = "delegation_invalid"


class ExportError(DiscreetError):
    """The export can't be written, gone on with or read."""

    code = "export"


class ImportSourceError(DiscreetError):
    """The source of the import can't be read."""

    code = "import_source"


class ScanError(DiscreetError):
    """This can't be scanned or scrubbed."""

    code = "scan"


class ReceiptError(DiscreetError):
    """This is no receipt of an erasure, or it was changed."""

    code = "receipt"


class AuditAnchorError(DiscreetError):
    """A seal of the audit trail could not be kept outside of the database."""

    code = "audit_anchor"


class EncryptionError(DiscreetError):
    """A sealed value can't be opened: its key is gone, it belongs somewhere else, or it was changed."""

    code = "encryption"
