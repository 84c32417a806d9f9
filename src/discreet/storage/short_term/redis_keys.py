"""Where things lie in Redis. Ids are percent-encoded, so none can hold a separator or a pattern and reach another's key.

The braces are part of the key: a cluster puts all keys with the same words in braces into one slot, so that a script may touch
all that a user has.

| key | type | what | expires |
|---|---|---|---|
| `session:{<user>}:<thread>:state` | string | `ACTIVE` | 5 minutes after the last touch |
| `session:{<user>}:<thread>:history` | list of JSON | rounds, oldest first | 24 hours after the last touch |
| `session:{<user>}:<thread>:requests` | set | request ids of the rounds | with them |
| `processed:{<user>}:<ref>`, `call:{<user>}:<ref>`, `lock:audio:{<user>}#audio:<ref>` | hash | `token` of who is at it, `until` when (ms) | an hour after the lease |
| `processed:{<user>}:<ref>:result`, `call:…:result`, `audio:{<user>}:<ref>:result` | string, JSON | the answer | as its holder says |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never
from urllib.parse import quote

from discreet.ports import Work
from discreet.state.ids import check_user_id


@dataclass(frozen=True)
class SessionKeys:
    """The keys of one session."""

    state: str
    history: str
    requests: str


@dataclass(frozen=True)
class WorkKeys:
    """The keys of one piece of work."""

    lock: str
    result: str


def session_keys(user_id: str, thread_id: str) -> SessionKeys:
    """Return the keys of a session."""
    session = f"session:{user_tag(user_id)}:{_encoded(thread_id)}"
    return SessionKeys(state=f"{session}:state", history=f"{session}:history", requests=f"{session}:requests")


def work_keys(work: Work) -> WorkKeys:
    """Return the keys of `work`."""
    user, ref = user_tag(work.user_id), _encoded(work.ref)
    match work.kind:
        case "request":
            return WorkKeys(lock=f"processed:{user}:{ref}", result=f"processed:{user}:{ref}:result")
        case "audio":
            return WorkKeys(lock=f"lock:audio:{user}#audio:{ref}", result=f"audio:{user}:{ref}:result")
        case "call":
            return WorkKeys(lock=f"call:{user}:{ref}", result=f"call:{user}:{ref}:result")
        case _:
            assert_never(work.kind)


def user_prefixes(user_id: str) -> tuple[str, ...]:
    """Return what all keys of a user, and no others, begin with."""
    user = user_tag(user_id)
    return f"session:{user}:", f"processed:{user}:", f"audio:{user}:", f"call:{user}:", f"lock:audio:{user}#"


def user_pattern(user_id: str) -> str:
    """Return a glob that matches all keys of a user, and some others."""
    return f"*:{user_tag(user_id)}[:#]*"


def user_tag(user_id: str) -> str:
    """Return what stands for a user in all keys of theirs, and in no other."""
    return f"{{{_encoded(check_user_id(user_id))}}}"


def _encoded(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")
