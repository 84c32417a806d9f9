"""The statements of the short-term store, one a method.

All times are the server's, so that processes agree whatever their clocks say.
"""

from __future__ import annotations

from typing import LiteralString

_SESSION: LiteralString = """
session AS (
    INSERT INTO discreet.short_term_session AS s (
        session_key, user_digest, began_at, active_until, expires_at, purge_at
    )
    VALUES (
        %(session_key)s, %(user_digest)s, now(),
        now() + make_interval(secs => %(session_seconds)s),
        now() + make_interval(secs => %(history_seconds)s),
        date_bin('10 minutes', now() + make_interval(secs => %(history_seconds)s), 'epoch') + interval '10 minutes'
    )
    ON CONFLICT (session_key) DO UPDATE SET
        began_at = CASE WHEN s.expires_at > now() THEN s.began_at ELSE excluded.began_at END,
        active_until = excluded.active_until,
        expires_at = excluded.expires_at,
        purge_at = excluded.purge_at
    RETURNING session_key, began_at
)
"""
"""The session, made or kept alive. An expired one begins anew and so has no rounds."""

_EXPIRED_ROUNDS: LiteralString = """
DELETE FROM discreet.short_term_round r
USING session
WHERE r.session_key = session.session_key AND r.began_at < session.began_at
"""

TOUCH: LiteralString = f"WITH {_SESSION} {_EXPIRED_ROUNDS}"

APPEND: LiteralString = f"""
WITH {_SESSION}, gone AS ({_EXPIRED_ROUNDS})
INSERT INTO discreet.short_term_round (
    session_key, began_at, request_key, request_id, input_text, output_text, sealed_input, sealed_output, said_at,
    is_emergency
)
SELECT
    session_key, began_at, %(request_key)s, %(request_id)s, %(input_text)s, %(output_text)s, %(sealed_input)s,
    %(sealed_output)s, %(said_at)s, %(is_emergency)s
FROM session
ON CONFLICT (session_key, began_at, request_key) DO NOTHING
RETURNING round_number
"""  # noqa: S608 - constants of ours

STATE: LiteralString = """
SELECT session_key FROM discreet.short_term_session WHERE session_key = %(session_key)s AND active_until > now()
"""

RECENT: LiteralString = """
SELECT r.request_id, r.input_text, r.output_text, r.sealed_input, r.sealed_output, r.said_at, r.is_emergency
FROM discreet.short_term_session s
CROSS JOIN LATERAL (
    SELECT *
    FROM discreet.short_term_round r
    WHERE r.session_key = s.session_key AND r.began_at = s.began_at
    ORDER BY r.session_key DESC, r.began_at DESC, r.round_number DESC
    LIMIT %(limit)s
) r
WHERE s.session_key = %(session_key)s AND s.expires_at > now()
ORDER BY r.round_number
"""
"""The order names the whole index: the planner then reads it from its end and nothing else."""

CLAIM: LiteralString = """
WITH claimed AS (
    INSERT INTO discreet.short_term_work AS w (work_key, user_digest, token, expires_at, purge_at)
    VALUES (
        %(work_key)s, %(user_digest)s, %(token)s,
        now() + make_interval(secs => %(lease)s),
        now() + make_interval(secs => %(lease)s + %(grace)s)
    )
    ON CONFLICT (work_key) DO UPDATE SET
        token = excluded.token,
        answer = NULL,
        sealed_answer = NULL,
        expires_at = excluded.expires_at,
        purge_at = excluded.purge_at
    WHERE w.expires_at <= now()
    RETURNING w.work_key
)
SELECT 'started' AS found, NULL AS answer, NULL AS sealed_answer FROM claimed
UNION ALL
SELECT 'done', answer, sealed_answer
FROM discreet.short_term_work
WHERE work_key = %(work_key)s AND token IS NULL AND expires_at > now() AND NOT EXISTS (SELECT FROM claimed)
"""
"""One row if the work is the caller's or done; none if somebody is at it, also somebody who came since this statement
began: the conflict is met whatever its snapshot shows."""

FINISH: LiteralString = """
UPDATE discreet.short_term_work
SET token = NULL,
    answer = %(answer)s,
    sealed_answer = %(sealed_answer)s,
    expires_at = coalesce(now() + make_interval(secs => %(keep)s), expires_at),
    purge_at = coalesce(now() + make_interval(secs => %(keep)s), expires_at)
WHERE work_key = %(work_key)s AND token = %(token)s
"""

RELEASE: LiteralString = """
DELETE FROM discreet.short_term_work WHERE work_key = %(work_key)s AND token = %(token)s
"""

_FORGET_ROUNDS: LiteralString = """
rounds AS (
    DELETE FROM discreet.short_term_round r
    USING held
    WHERE r.session_key = held.session_key
    RETURNING r.began_at = held.began_at AND held.expires_at > now() AS live
), sessions AS (
    DELETE FROM discreet.short_term_session s
    USING held
    WHERE s.session_key = held.session_key
    RETURNING s.active_until > now() AS live
)
"""

FORGET_SESSION: LiteralString = f"""
WITH held AS MATERIALIZED (
    SELECT session_key, began_at, expires_at
    FROM discreet.short_term_session
    WHERE session_key = %(session_key)s
    FOR UPDATE
), {_FORGET_ROUNDS}
SELECT (SELECT count(*) FILTER (WHERE live) FROM rounds) + (SELECT count(*) FILTER (WHERE live) FROM sessions) AS entries
"""  # noqa: S608 - constants of ours
"""Sessions are locked before their rounds, as touching and purging do."""

FORGET_USER: LiteralString = f"""
WITH held AS MATERIALIZED (
    SELECT session_key, began_at, expires_at
    FROM discreet.short_term_session
    WHERE user_digest = %(user_digest)s
    ORDER BY session_key
    FOR UPDATE
), {_FORGET_ROUNDS}, works AS (
    DELETE FROM discreet.short_term_work WHERE user_digest = %(user_digest)s RETURNING expires_at > now() AS live
)
SELECT (SELECT count(*) FILTER (WHERE live) FROM rounds)
     + (SELECT count(*) FILTER (WHERE live) FROM sessions)
     + (SELECT count(*) FILTER (WHERE live) FROM works) AS entries
"""  # noqa: S608 - constants of ours
