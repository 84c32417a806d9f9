"""A turn is logged and added to its session in one statement, both or neither."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from testkit.boundaries import at_statement
from testkit.keys import USER_KEYS

from discreet.errors import UserErasedError
from discreet.ports import Round
from discreet.redaction import untagged
from discreet.settings import Settings
from discreet.state.records import TurnRecord
from discreet.storage import open_storage
from discreet.testing import InMemoryShortTermStore, StubEmbeddings

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TURN = TurnRecord(
    request_id="r", user_id="ann", thread_id="t", input_text="Mail ann@example.com", output_text="Yes", started_at=NOON, ended_at=NOON
)  # fmt: skip
ROUND = Round(request_id="r", input_text="Mail ann@example.com", output_text="Yes", said_at=NOON)


@pytest.fixture(params=[True, False], ids=["audited", "not audited"])
async def storage(request, database):
    settings = Settings(reembed=False, audit=request.param)
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as opened:
        yield opened


@pytest.mark.dialect
async def test_both_are_kept_redacted_and_once(storage):
    assert storage.log.logs_with(storage.short_term)
    await storage.short_term.touch("ann", "t")
    with at_statement(100, storage.memories.close) as sent:
        assert await storage.log.append_with_round(TURN, ROUND, storage.short_term)
    assert sent.passed == 1
    assert not await storage.log.append_with_round(TURN, ROUND, storage.short_term)
    [turn], [said] = await storage.log.read("ann"), await storage.short_term.recent_rounds("ann", "t")
    assert (turn.input_text, untagged(said.input_text)) == ("Mail <EMAIL>", "Mail <EMAIL>")
    assert await storage.short_term.session_state("ann", "t") == "ACTIVE"


async def test_neither_is_kept_once_the_user_was_erased(storage):
    await storage.log.append_with_round(TURN, ROUND, storage.short_term, epoch=1)
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("UPDATE discreet.users SET epoch = 2 WHERE user_key = %s", [USER_KEYS.of_user("ann")])
    late = TURN.model_copy(update={"request_id": "late"})
    with pytest.raises(UserErasedError):
        await storage.log.append_with_round(late, ROUND, storage.short_term, epoch=1)
    assert [turn.request_id for turn in await storage.log.read("ann")] == ["r"]


async def test_sessions_elsewhere_are_written_by_themselves(storage):
    assert not storage.log.logs_with(InMemoryShortTermStore())
