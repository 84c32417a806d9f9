"""The statements of the short-term store, one a method.

All times are the server's, so that processes agree whatever their clocks say.
"""

from __future__ import annotations

from typing import LiteralString

from discreet.storage.database.users.users import OWNER

_SESSION: LiteralString = """
active AS (
    INSERT INTO discreet.short_term_session AS s (
        user_key, thread_key, began_at, active_until, expires_at, purge_at, rounds
    )
    SELECT
        user_key, %(thread_key)s, now(),
        now() + make_interval(secs => %(session_seconds)s),
        now() + make_interval(secs => %(history_seconds)s),
        date_bin('10 minutes', now() + make_interval(secs => %(history_seconds)s), 'epoch') + interval '10 minutes',
        %(rounds)s::bigint
    FROM owner
    ON CONFLICT (user_key, thread_key) DO UPDATE SET
        began_at = CASE WHEN s.expires_at > excluded.began_at THEN s.began_at ELSE excluded.began_at END,
        active_until = excluded.active_until,
        expires_at = excluded.expires_at,
        purge_at = excluded.purge_at,
        rounds = CASE WHEN s.expires_at > excluded.began_at THEN s.rounds + excluded.rounds ELSE excluded.rounds END
    RETURNING user_key, thread_key, began_at, rounds
)
"""
"""The session, made or kept alive. An expired one begins anew and so has no rounds. A round takes the number that it comes
to under the session's lock; one that is there already leaves a gap."""

_EXPIRED_ROUNDS: LiteralString = """
DELETE FROM discreet.short_term_round r
USING active
WHERE r.user_key = %(user_key)s AND r.thread_key = active.thread_key AND r.began_at < active.began_at
"""

_NOT_TO_DISK: LiteralString = "set_config('synchronous_commit', 'off', true)"
"""These tables don't reach the disk before a commit; the lock of the user's row would have it wait."""

TOUCHED: LiteralString = f"{_SESSION}, expired AS ({_EXPIRED_ROUNDS})"
"""Common table expressions behind `OWNER`: the session is made or kept alive."""

TOUCH: LiteralString = f"""
WITH {OWNER}, {TOUCHED}
SELECT EXISTS (SELECT FROM owner) AS is_owner, (SELECT epoch FROM owner) AS epoch, {_NOT_TO_DISK}
"""

APPENDED: LiteralString = f"""
{TOUCHED},
added AS (
    INSERT INTO discreet.short_term_round (
        user_key, thread_key, began_at, round_number, request_key, request_id, input_text, output_text, sealed_input,
        sealed_output, said_at, is_emergency
    )
    SELECT
        user_key, thread_key, began_at, rounds, %(request_key)s, %(round_id)s, %(said)s, %(heard)s,
        %(sealed_said)s, %(sealed_heard)s, %(said_at)s, %(is_emergency)s
    FROM active
    ON CONFLICT (user_key, thread_key, began_at, request_key) DO NOTHING
    RETURNING round_number
)
"""
"""The same, and a round is added."""

APPEND: LiteralString = f"""
WITH {OWNER}, {APPENDED}
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM added) AS is_added, {_NOT_TO_DISK}
"""

STATE: LiteralString = """
SELECT thread_key FROM discreet.short_term_session
WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s AND active_until > now()
"""

RECENT: LiteralString = """
SELECT r.request_id, r.input_text, r.output_text, r.sealed_input, r.sealed_output, r.said_at, r.is_emergency
FROM discreet.short_term_session s
CROSS JOIN LATERAL (
    SELECT *
    FROM discreet.short_term_round r
    WHERE r.user_key = %(user_key)s AND r.thread_key = %(thread_key)s AND r.began_at = s.began_at
    ORDER BY r.user_key DESC, r.thread_key DESC, r.began_at DESC, r.round_number DESC
    LIMIT %(limit)s
) r
WHERE s.user_key = %(user_key)s AND s.thread_key = %(thread_key)s AND s.expires_at > now()
ORDER BY r.round_number
"""
"""The order names the whole index: the planner then reads it from its end and nothing else."""

CLAIM: LiteralString = f"""
WITH {OWNER},
claimed AS (
    INSERT INTO discreet.short_term_work AS w (user_key, work_key, claimed_at, token, expires_at, purge_at)
    SELECT
        user_key, %(work_key)s, now(), %(token)s,
        now() + make_interval(secs => %(lease)s),
        now() + make_interval(secs => %(lease)s + %(grace)s)
    FROM owner
    ON CONFLICT (user_key, work_key) DO UPDATE SET
        claimed_at = excluded.claimed_at,
        token = excluded.token,
        answer = NULL,
        sealed_answer = NULL,
        expires_at = excluded.expires_at,
        purge_at = excluded.purge_at
    WHERE w.expires_at <= excluded.claimed_at
    RETURNING w.work_key
),
done AS (
    SELECT answer, sealed_answer
    FROM discreet.short_term_work
    WHERE user_key = %(user_key)s AND work_key = %(work_key)s AND token IS NULL AND expires_at > now()
)
SELECT
    EXISTS (SELECT FROM owner) AS is_owner,
    EXISTS (SELECT FROM claimed) AS is_claimed,
    EXISTS (SELECT FROM done) AS is_done,
    (SELECT answer FROM done) AS answer,
    (SELECT sealed_answer FROM done) AS sealed_answer,
    {_NOT_TO_DISK}
"""
"""Neither claimed nor done: somebody is at it, also somebody who came since this statement began: the conflict is met
whatever its snapshot shows."""

FINISH: LiteralString = f"""
WITH {OWNER},
finished AS (
    UPDATE discreet.short_term_work w
    SET token = NULL,
        answer = %(answer)s,
        sealed_answer = %(sealed_answer)s,
        expires_at = coalesce(n.until, w.expires_at),
        purge_at = coalesce(n.until, w.expires_at)
    FROM owner CROSS JOIN (SELECT now() + make_interval(secs => %(keep)s) AS until) n
    WHERE w.user_key = %(user_key)s AND w.user_key = owner.user_key AND w.work_key = %(work_key)s AND w.token = %(token)s
    RETURNING w.work_key
)
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM finished) AS is_changed, {_NOT_TO_DISK}
"""

RELEASE: LiteralString = f"""
WITH {OWNER},
released AS (
    DELETE FROM discreet.short_term_work w
    USING owner
    WHERE w.user_key = %(user_key)s AND w.user_key = owner.user_key AND w.work_key = %(work_key)s AND w.token = %(token)s
    RETURNING w.work_key
)
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM released) AS is_changed, {_NOT_TO_DISK}
"""

_HELD: LiteralString = """
    SELECT s.thread_key, s.began_at, s.expires_at > now() AS is_kept, s.active_until > now() AS is_active
    FROM discreet.short_term_session s
    JOIN owner ON owner.user_key = s.user_key
    WHERE s.user_key = %(user_key)s
"""

_FORGET_ROUNDS: LiteralString = """
rounds AS (
    DELETE FROM discreet.short_term_round r
    USING held
    WHERE r.user_key = %(user_key)s AND r.thread_key = held.thread_key
    RETURNING r.began_at = held.began_at AND held.is_kept AS live
),
sessions AS (
    DELETE FROM discreet.short_term_session s
    USING held
    WHERE s.user_key = %(user_key)s AND s.thread_key = held.thread_key
    RETURNING held.is_active AS live
)
"""

_FORGOTTEN: LiteralString = """
    (SELECT count(*) FILTER (WHERE live) FROM rounds) + (SELECT count(*) FILTER (WHERE live) FROM sessions)
"""

FORGET_SESSION: LiteralString = f"""
WITH {OWNER},
held AS MATERIALIZED (
    {_HELD}
    AND s.thread_key = %(thread_key)s
    FOR UPDATE OF s
),
{_FORGET_ROUNDS}
SELECT EXISTS (SELECT FROM owner) AS is_owner, {_FORGOTTEN} AS entries
"""
"""Sessions are locked before their rounds, as touching and purging do."""

FORGET_USER: LiteralString = f"""
WITH {OWNER},
held AS MATERIALIZED (
    {_HELD}
    ORDER BY s.thread_key
    FOR UPDATE OF s
),
{_FORGET_ROUNDS},
works AS (
    DELETE FROM discreet.short_term_work w
    USING owner
    WHERE w.user_key = %(user_key)s AND w.user_key = owner.user_key
    RETURNING w.expires_at
)
SELECT
    EXISTS (SELECT FROM owner) AS is_owner,
    {_FORGOTTEN} + (SELECT count(*) FILTER (WHERE expires_at > now()) FROM works) AS entries
"""
