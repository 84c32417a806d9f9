"""The statements of the turn vault. All times are the server's, so that processes agree whatever their clocks say."""

from __future__ import annotations

from typing import LiteralString

FORGET_EXPIRED: LiteralString = """
DELETE FROM discreet.vault_turn WHERE turn_key = %(turn_key)s AND expires_at <= now()
"""
"""With its values: a turn that begins anew has none of them."""

TOUCH: LiteralString = """
INSERT INTO discreet.vault_turn (turn_key, expires_at)
VALUES (%(turn_key)s, now() + make_interval(secs => %(seconds)s))
ON CONFLICT (turn_key) DO UPDATE SET expires_at = excluded.expires_at
"""
"""Locks the turn until the transaction ends, so that two that add to it do so one after the other."""

ADD: LiteralString = """
INSERT INTO discreet.vault_value (turn_key, value_key, sealed)
SELECT turn_key, value_key, sealed
FROM (
    SELECT t.turn_key, g.value_key, g.sealed, sum(octet_length(g.sealed)) OVER (ORDER BY g.place) AS size
    FROM discreet.vault_turn t
    CROSS JOIN unnest(%(value_keys)b::uuid[], %(sealed)b::bytea[]) WITH ORDINALITY AS g (value_key, sealed, place)
    WHERE t.turn_key = %(turn_key)s AND NOT EXISTS (
        SELECT FROM discreet.vault_value v WHERE v.turn_key = %(turn_key)s AND v.value_key = g.value_key
    )
) given
WHERE size + (
    SELECT coalesce(sum(octet_length(sealed)), 0) FROM discreet.vault_value WHERE turn_key = %(turn_key)s
) <= %(max_bytes)s
ON CONFLICT DO NOTHING
"""
"""A name keeps the value it had first. The values come in order of size, so what is over the bound is the largest. A
statement of its own after `TOUCH`: it sees what was added while that waited for its lock. From the turn's row, so that a
cluster runs it on that row's node."""

VALUES: LiteralString = """
SELECT v.value_key, v.sealed
FROM discreet.vault_turn t
JOIN discreet.vault_value v USING (turn_key)
WHERE t.turn_key = %(turn_key)s AND t.expires_at > now()
"""

DROP: LiteralString = """
DELETE FROM discreet.vault_turn WHERE turn_key = %(turn_key)s
"""
