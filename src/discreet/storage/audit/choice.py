"""The trail that the settings ask for."""

from __future__ import annotations

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
    anchors: list[Anchor] = []
    if settings.audit_anchor_file is not None:
        anchors.append(file_anchor(settings.audit_anchor_file))
    if settings.audit_anchor_url is not None:
        anchors.append(url_anchor(settings.audit_anchor_url.get_secret_value()))
    return AuditSealer(works, key=keys.audit_key, anchors=anchors)
