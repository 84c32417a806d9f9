"""The trail that the settings ask for."""

from __future__ import annotations

from pathlib import Path

from discreet.access.user_keys import UserKeys
from discreet.ports import NoAudit
from discreet.settings import Settings
from discreet.storage.audit.anchors import file_anchor, url_anchor
from discreet.storage.audit.log import PostgresAuditLog
from discreet.storage.audit.sealing import Anchor, AuditSealer
from discreet.storage.database.connecting.pool import Pool


def audit_log(pool: Pool, settings: Settings, keys: UserKeys) -> PostgresAuditLog | NoAudit:
    """Return what adds to the trail."""
    return PostgresAuditLog(pool, keys=keys) if settings.audit else NoAudit()


def audit_sealer(works: Pool, settings: Settings, keys: UserKeys) -> AuditSealer:
    """Return what seals the trail, with the anchors of the settings.

    Raises:
        ConfigurationError: The address of an anchor can't be used.
    """
    return AuditSealer(works, key=keys.audit_key, anchors=chosen_anchors(settings))


def chosen_anchors(settings: Settings, *, file: Path | None = None, url: str | None = None) -> list[Anchor]:
    """Return the anchors that are given; those of the settings, if none is.

    Raises:
        ConfigurationError: The address can't be used.
    """
    if file is None and url is None:
        file = settings.audit_anchor_file
        url = None if settings.audit_anchor_url is None else settings.audit_anchor_url.get_secret_value()
    anchors = [] if file is None else [file_anchor(file)]
    return anchors if url is None else [*anchors, url_anchor(url)]
