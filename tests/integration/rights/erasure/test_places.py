"""Places beside the tables: memory of other processes, Redis, the vault, providers of batches, secrets, indexes, files."""

from __future__ import annotations

from contextlib import AsyncExitStack

import psycopg
import pytest
from kit.places import files
from kit.search import Words, search
from langgraph.types import Command
from testkit.conversations import ScriptedProvider, echo, talk
from testkit.erasing import PLAIN, a_house, found
from testkit.keys import USER_KEYS

from discreet.encryption import Keyring, make_key
from discreet.errors import CheckpointError, InputError, UserErasedError
from discreet.ports import FixedSettings
from discreet.redaction import Redactor
from discreet.redaction.thread_values import vault_key
from discreet.rights.erasure import Erasures, Scope
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord
from discreet.storage.database.keys import digest
from discreet.storage.database.users.erasures import ErasureWatch
from discreet.storage.embedded import lease_server
from discreet.testing import InMemorySecretStore
from discreet.transient import default_transient_state
from discreet.worker import BatchProviders, Worker

ANN, BOB = USER_KEYS.of_user("ann"), USER_KEYS.of_user("bob")


async def learn(house):
    """Have a house look for erasures now, as it does every few seconds."""
    await ErasureWatch(house.storage.pool, USER_KEYS).look()


@pytest.mark.slow
async def test_another_process_forgets_what_it_holds_in_memory(database):
    keys = Keyring([make_key()])
    async with a_house(database, keys=keys) as house, a_house(database, keys=keys) as other:
        await house.say("ask: may the zebrafinch sing?", thread="gone")
        await house.say("ask: may the nightingale sing?", user="bob", thread="stays")
        default_transient_state().set("gone", "tool.temp.bird", "zebrafinch")
        default_transient_state().set("stays", "tool.temp.bird", "nightingale")
        held = house.saver._scratch
        assert {"gone", "stays"} <= set(held.thread_ids())
        await other.erasures.erase("ann", Scope.everything())
        await learn(house)
        assert "gone" not in held.thread_ids()
        assert "stays" in held.thread_ids()
        assert default_transient_state().get("gone", "tool.temp.bird") is None
        assert default_transient_state().get("stays", "tool.temp.bird") == "nightingale"


@pytest.mark.slow
async def test_counts_of_what_was_found_are_forgotten(database):
    async with a_house(database) as house, a_house(database) as other:
        await house.storage.memories.save("ann", [MemoryRecord(text="The zebrafinch")])
        await house.storage.memories.search("ann", "zebrafinch")
        hits = house.storage.memories._usage._hits
        assert any(user_key == ANN for user_key, _ in hits)
        await other.erasures.erase("ann", Scope.everything())
        await learn(house)
        assert not any(user_key == ANN for user_key, _ in hits)


@pytest.mark.slow
@pytest.mark.parametrize("vault", ["memory", "postgres", "redis"])
async def test_the_vault_forgets_their_values(database, redis_url, vault):
    keys = Keyring([make_key()])
    given = {**PLAIN, "turn_vault": vault, "redis_url": redis_url if vault == "redis" else None}
    async with a_house(database, keys=keys, settings=Settings(**given)) as house:
        await house.say("My address is ann@example.org", thread="gone")
        await house.say("My address is bob@example.org", user="bob", thread="stays")
        state = await house.say("ask: may I write to ann@example.net?", thread="open")
        open_turn = vault_key("open", state["messages"][0].id)
        for name in (open_turn, vault_key("gone"), vault_key("stays")):  # as masked states and savers hold them
            await house.storage.vault.ahold(name, {"<EMAIL:ABCDEFGH>": "ann@example.org"})
        await house.erasures.erase("ann", Scope.everything())
        assert await house.storage.vault.avalues(vault_key("gone")) == {}
        assert await house.storage.vault.avalues(open_turn) == {}
        assert await house.storage.vault.avalues(vault_key("stays"))


@pytest.mark.slow
async def test_redis_is_looked_through(database, redis_url):
    import redis

    settings = Settings(**PLAIN, redis_url=redis_url)
    async with a_house(database, settings=settings) as house:
        house.erasures = Erasures(house.storage, settings=settings)
        await house.say("My zebrafinch", thread="gone")
        await house.say("My nightingale", user="bob", thread="stays")
        with redis.Redis.from_url(redis_url) as client:
            assert any(b"{ann}:" in key for key in list(client.scan_iter()))
            receipt = await house.erasures.erase("ann", Scope.everything())
            assert not any(b"{ann}:" in key for key in list(client.scan_iter()))
            assert any(b"{bob}:" in key for key in list(client.scan_iter()))
        assert receipt.counts["redis"]["entries"] >= 2


@pytest.mark.slow
async def test_a_late_round_in_redis_is_taken_back(database, redis_url):
    import redis

    settings = Settings(**PLAIN, redis_url=redis_url)
    async with a_house(database, settings=settings) as house:
        await house.say("ask: may the zebrafinch sing?", thread="gone")
        async with a_house(database, settings=settings) as other:
            await Erasures(other.storage, settings=settings).erase("ann", Scope.everything())
        with pytest.raises((UserErasedError, CheckpointError, InputError)):
            await house.say(Command(resume="yes"), thread="gone")
        with redis.Redis.from_url(redis_url) as client:
            assert not any(b"history" in key for key in list(client.scan_iter()))


@pytest.mark.slow
@pytest.mark.dialect
async def test_the_providers_copy_goes_and_others_are_handed_in_anew(house, database):
    provider = ScriptedProvider(echo, is_done=False)
    live = FixedSettings(MemorySettings(memory_extraction_provider="openai"))
    settings = Settings(**PLAIN)

    def worker():
        return Worker(
            house.storage.background,
            memory_settings=live,
            providers=BatchProviders(settings, make=lambda _name, _model: provider),
            redactor=Redactor(),
        )

    for user in ("ann", "bob"):
        await talk(house.storage, f"{user} has a bird", user=user, thread=user)
        await house.storage.background.sessions.take(
            USER_KEYS.of_user(user), digest(user), "manual", kinds=["extraction"]
        )
    await worker().submit(collect_seconds=0.0)
    receipt = await house.erasures.erase("ann", Scope.everything())
    assert receipt.counts["providers"] == {"batches": 1}
    assert any(place.place == "batches" for place in receipt.unreached)
    provider.is_done = True
    for _ in range(6):
        await worker().once()
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("UPDATE discreet.batch_requests SET due_at = now() WHERE state = 'pending'")
            connection.execute("UPDATE discreet.batch_jobs SET due_at = now() WHERE done_at IS NULL")
    assert provider.calls["cancel"] >= 1
    assert provider.calls["delete"] >= 1
    assert [memory.text for memory in await house.storage.memories.latest("bob")] == ["bob has a bird"]
    assert await house.storage.memories.latest("ann") == []


@pytest.mark.slow
async def test_secrets_that_memories_refer_to_go(house):
    secrets = InMemorySecretStore()
    await secrets.keep("ann", "opensesame")
    await secrets.keep("bob", "letmein")
    erasures = Erasures(house.storage, secret_store=secrets)
    receipt = await erasures.erase("ann", Scope.everything())
    assert receipt.counts["secret store"] == {"secrets": 1}
    assert await secrets.forget("bob") == 1


class Elsewhere:
    """A place beside the database."""

    name = "elsewhere"

    def __init__(self):
        self.asked = []

    async def erase(self, user_id, *, scope, threads, dry_run):
        self.asked.append((user_id, dry_run))
        return {"things": 3}


@pytest.mark.dialect
async def test_places_beside_the_database_are_asked(house):
    place = Elsewhere()
    erasures = Erasures(house.storage, elsewhere=[place])
    assert (await erasures.preview("ann", Scope.everything()))["elsewhere"] == {"things": 3}
    receipt = await erasures.erase("ann", Scope.everything())
    assert receipt.counts["elsewhere"] == {"things": 3}
    assert place.asked == [("ann", True), ("ann", False)]
    assert not any("LangGraph" in place.place for place in receipt.unreached)


@pytest.mark.slow
async def test_the_files_of_the_database_have_no_word_of_it_after_vacuum(tmp_path):
    with lease_server(tmp_path / "server") as dsn:
        async with AsyncExitStack() as opened:
            house = await opened.enter_async_context(a_house(dsn))
            for number in range(6):
                await house.say(f"The zebrafinch at {number}")
            await house.say("remember: I own a zebrafinch")
            await house.say("My nightingale", user="bob", thread="bobs")
            await house.erasures.erase("ann", Scope.everything())
            assert found(dsn, "zebrafinch") == set()
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("VACUUM FULL")
            connection.execute("CHECKPOINT")
        # Not the write-ahead log, which receipts tell of.
        held = search(files(tmp_path, tmp_path.rglob("base/*/*")), Words("nightingale", "zebrafinch"))
        assert held.leaks.keys() == {"nightingale"}
