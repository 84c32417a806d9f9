"""What `discreet doctor` can tell from the settings alone."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from discreet.access.identity import load_identities
from discreet.access.loopback import is_loopback, is_loopback_name
from discreet.encryption import MAKE_ONE, keys_from_settings
from discreet.errors import DiscreetError
from discreet.providers import chat_model, embedding_provider
from discreet.providers.batches.choice import make_batch_provider
from discreet.providers.environment_values import environment_values
from discreet.providers.in_force import in_force, unused_keys
from discreet.providers.offline import OfflineChatModel
from discreet.redaction.placeholder_key import load_placeholder_key
from discreet.settings import Settings, load_tracing, unknown_variables

IN_FORCE = "in force"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warn", "fail"]
    """`fail`: something will not work, or will not be private. `warn`: right for some, who have to know."""
    say: str
    """What was found, and what to do. No secret, and nothing that a person said."""


def settings_checks(settings: Settings) -> list[Check]:
    """Return what the settings tell, in the order in which it matters."""
    checks = {
        "encryption keys": _encryption_keys,
        "placeholder key": _placeholder_key,
        "identity key": _identity_key,
        "turn vault": _turn_vault,
        "chat model": _chat_model,
        "embedding model": _embedding_model,
        "extraction": _extraction,
        "tracing": _tracing,
        "credentials": _credentials,
    }
    return [guarded(name, check, settings) for name, check in checks.items()]


def in_force_check(settings: Settings) -> Check:
    """Return what the environment alone puts in force, for a database that can't be asked."""
    return guarded(IN_FORCE, _in_force, settings)


def unknown_names() -> list[Check]:
    """Return a check for each variable that looks like a setting and is none."""
    return [
        Check(name, "warn", f"There is no such setting. Did you mean {near}?" if near else "There is no such setting.")
        for name, near in unknown_variables().items()
    ]


def versions_check() -> Check:
    """Return what runs here. PostgreSQL's version and pgvector's are told where they are looked at."""
    with suppress(PackageNotFoundError):
        return Check("versions", "ok", f"{_versions()}, langgraph-api {version('langgraph-api')}.")
    return Check("versions", "ok", f"{_versions()}, no LangGraph server.")


def _versions() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("discreet", "langgraph"))
    return f"{packages}, Python {platform.python_version()}"


def guarded(name: str, check: Callable[[Settings], Check], settings: Settings) -> Check:
    """Return what `check` finds; what it raises is a failure."""
    try:
        return check(settings)
    except DiscreetError as error:
        return Check(name, "fail", str(error))
    except Exception as error:  # noqa: BLE001  # a provider's client refuses its settings by errors of its own
        return Check(name, "fail", f"It can't be set up ({type(error).__name__}). Check the provider's own settings.")


def transport_check(host: str | None, address: str | None, sslmode: str | None) -> Check:
    """Return whether somebody between here and the database could read along, or play it.

    `host` and `address` are those of a connection, `sslmode` what it was made with; None for what was not said.
    """
    name, mode = "transport", sslmode or "prefer"
    if not host or host.startswith("/") or is_loopback(address or host) or is_loopback_name(host):
        return Check(name, "ok", "The database is on this machine.")
    if mode == "verify-full":
        return Check(name, "ok", "By TLS, and the database is verified (sslmode=verify-full).")
    if mode == "verify-ca":
        return Check(
            name, "ok", "By TLS, and the database's authority is verified (sslmode=verify-ca), its host name is not."
        )
    return Check(
        name,
        "warn",
        f"Nobody makes sure that it is your database: sslmode is {mode}. Set sslmode=verify-full and sslrootcert=… in the DSN "
        "(docs/keys.md), unless the network between here and there is yours.",
    )


def shares(settings: Settings) -> bool:
    """Return whether these are settings of a service of several processes."""
    return settings.turn_vault != "memory" or settings.spill is True


def _encryption_keys(settings: Settings) -> Check:
    if keys_from_settings(settings) is not None:
        return Check("encryption keys", "ok", "Set. Keep them apart from the database and its backups.")
    if shares(settings):
        return Check(
            "encryption keys",
            "fail",
            f"A shared turn vault and DISCREET_SPILL need DISCREET_ENCRYPTION_KEYS, the same in all processes. {MAKE_ONE}",
        )
    return Check(
        "encryption keys",
        "warn",
        f"Texts lie redacted in the database, and not sealed. Set DISCREET_ENCRYPTION_KEYS. {MAKE_ONE}",
    )


def _placeholder_key(settings: Settings) -> Check:
    name, make = "placeholder key", "Set DISCREET_PLACEHOLDER_KEY; `discreet key --placeholder` makes one."
    if settings.placeholder_key is not None:
        load_placeholder_key(settings)
        return Check(name, "ok", "Set. It has to be the same in all processes.")
    if shares(settings):
        return Check(name, "fail", f"Several processes need the same one, or each marks a value in its own way. {make}")
    if settings.postgres_dsn is not None:
        return Check(name, "warn", f"In a file of this data folder: processes with another folder have another. {make}")
    return Check(name, "ok", "In a file of the data folder, made when it is first needed.")


def _identity_key(settings: Settings) -> Check:
    name, make = "identity key", "Set DISCREET_IDENTITY_KEY; `discreet key --identity` makes one."
    if settings.identity_key is not None:
        load_identities(settings)
        return Check(name, "ok", "Set. It has to be the same in all servers, for good.")
    if shares(settings):
        return Check(name, "fail", f"Several processes need the same one: the database's users are known by it. {make}")
    if settings.postgres_dsn is not None:
        said = (
            "In a file of this data folder: a process with another folder has another, and is refused by the database."
        )
        return Check(name, "warn", f"{said} {make}")
    return Check(name, "ok", "In a file of the data folder, made when it is first needed.")


def _turn_vault(settings: Settings) -> Check:
    name = "turn vault"
    if settings.turn_vault == "redis" and settings.redis_url is None:
        return Check(name, "fail", "DISCREET_TURN_VAULT=redis needs DISCREET_REDIS_URL.")
    if settings.turn_vault != "memory":
        if keys_from_settings(settings) is None:
            return Check(name, "fail", f"DISCREET_TURN_VAULT={settings.turn_vault} needs encryption keys. {MAKE_ONE}")
        return Check(
            name, "ok", f"Real values of running turns are shared by all processes, sealed, in {settings.turn_vault}."
        )
    means = (
        "Real values of running turns are in the memory of the process that took them in. With more than one API or worker "
        "process the others' models and tools get placeholders: set DISCREET_TURN_VAULT=postgres then."
    )
    return Check(name, "ok" if settings.postgres_dsn is None else "warn", means)


def _chat_model(settings: Settings) -> Check:
    model, keys = chat_model(settings=settings), ", ".join(unused_keys(settings))
    unused = f" {keys} alone is not used: a key names no model." if keys else ""
    if isinstance(model, OfflineChatModel):
        return Check(
            "chat model",
            "warn",
            f"The offline model: for trying out. Set DISCREET_CHAT_MODEL and its provider's key.{unused}",
        )
    return Check("chat model", "ok", f"{settings.chat_model or type(model).__name__}.")


def _in_force(settings: Settings) -> Check:
    told = in_force(settings, environment_values(settings), embedding_provider(settings=settings))
    return Check(IN_FORCE, "ok", told)


def _embedding_model(settings: Settings) -> Check:
    return Check("embedding model", "ok", f"{embedding_provider(settings=settings).name}.")


def _extraction(settings: Settings) -> Check:
    name, live = "extraction", environment_values(settings)
    if not live.memory_extraction_enabled:
        return Check(name, "ok", "Off: only what models save in turns is remembered.")
    provider, model = live.memory_extraction_provider, live.extraction_model
    make_batch_provider(provider, model, settings)
    runs = "In the server's process." if settings.worker else "`discreet worker`, or DISCREET_WORKER=true, does it."
    if provider == "offline":
        return Check(name, "ok", f"By rules, in four languages. {runs}")
    return Check(name, "ok", f"By {provider}, model {model}. It was not asked anything. {runs}")


def _tracing(_settings: Settings) -> Check:
    traced = [tracing for tracing in load_tracing() if tracing.on]
    if not traced:
        return Check("tracing", "ok", "Off.")
    if all(tracing.hidden for tracing in traced):
        return Check(
            "tracing",
            "warn",
            "On, with inputs and outputs hidden; LangSmith still gets errors, tags and names of runs as they are. Discreet's "
            "server sends no text, see DISCREET_TRACING; programs of your own do.",
        )
    return Check(
        "tracing",
        "fail",
        "LangSmith's variables, or a key of it alone, send runs there with what people say. Set LANGSMITH_TRACING=false, or "
        "LANGSMITH_HIDE_INPUTS=true and LANGSMITH_HIDE_OUTPUTS=true. Discreet's server sends no text all the same, see "
        "DISCREET_TRACING; programs of your own do.",
    )


def _credentials(settings: Settings) -> Check:
    found = _methods(settings)
    if settings.allow_anonymous:
        also = f" besides {' and '.join(found)}" if found else ""
        return Check(
            "credentials", "warn", f"Requests of this machine need none{also}: DISCREET_ALLOW_ANONYMOUS is on."
        )
    if found:
        return Check("credentials", "ok", f"By {' and '.join(found)}.")
    return Check(
        "credentials",
        "warn",
        "None: a server refuses everybody. Set DISCREET_JWKS_URL, DISCREET_JWT_SECRET or DISCREET_API_KEYS, or on your own "
        "machine DISCREET_ALLOW_ANONYMOUS=true. Programs that use the library alone need none.",
    )


def _methods(settings: Settings) -> list[str]:
    """Return by what people are let in."""
    methods = {"bearer tokens": settings.jwt_secret or settings.jwks_url, "API keys": settings.api_keys}
    return [name for name, given in methods.items() if given]
