"""A short-term store that is down, hangs or was tampered with: one error, soon, without anybody's text."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
import redis
from testkit.redis_clusters import ON_CLUSTER

from discreet.errors import ConfigurationError, MissingDependencyError, ShortTermError
from discreet.ports import Round, Work
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.redis import RedisClient, connecting
from discreet.storage.short_term.redis_keys import session_keys, work_keys
from discreet.storage.short_term.redis_store import RedisShortTermStore
from discreet.testing import StubEmbeddings

WORK = Work(kind="audio", user_id="ann", ref="0f")
SAID = Round(request_id="r", input_text="hi", output_text="hello", said_at=datetime(2026, 3, 1, tzinfo=UTC))
PASSWORD = "tops" + "ecret"


class Unchanged:
    def redact(self, text):
        return text


class Broken:
    def redact(self, text):
        raise RuntimeError("out of order")


@contextlib.asynccontextmanager
async def redis_store(url, **options):
    store = RedisShortTermStore(url, **{"redactor": Unchanged(), "sealer": FieldSealer(None), **options})
    try:
        yield store
    finally:
        await store.close()


def calls(store):
    yield store.touch("ann", "1")
    yield store.session_state("ann", "1")
    yield store.append_round("ann", "1", SAID)
    yield store.recent_rounds("ann", "1")
    yield store.claim(WORK, lease=1.0)
    yield store.finish(WORK, "0" * 32, "answer")
    yield store.release(WORK, "0" * 32)
    yield store.forget("ann")
    yield store.forget("ann", "1")


async def all_fail(store):
    for call in calls(store):
        with pytest.raises(ShortTermError):
            await call


async def test_every_method_says_so_when_redis_is_down():
    async with redis_store("redis://127.0.0.1:1/0") as store:
        await all_fail(store)


async def test_every_method_says_so_when_the_database_is_closed(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=16)) as storage:
        pass
    await all_fail(storage.short_term)


@contextlib.asynccontextmanager
async def listening(serve, **options):
    """Yield the port of a server, and a list that counts its connections."""
    connected = []

    async def count(reader, writer):
        connected.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()

    async with await asyncio.start_server(count, "127.0.0.1", 0, **options) as server:
        yield server.sockets[0].getsockname()[1], connected
        for writer in connected:
            writer.close()


@pytest.mark.slow
async def test_a_server_that_hangs_is_given_up_and_not_asked_again():
    async def hang(reader, _writer):
        while await reader.read(4096):
            pass

    async with listening(hang) as (port, connected), asyncio.timeout(60):
        async with redis_store(f"redis://127.0.0.1:{port}/0") as store:
            with pytest.raises(ShortTermError):
                await store.claim(WORK, lease=1.0)
        assert len(connected) == 1


async def test_a_server_that_hangs_up_is_asked_only_a_few_times():
    async def hang_up(_reader, _writer):
        pass

    async with listening(hang_up) as (port, connected), redis_store(f"redis://127.0.0.1:{port}/0") as store:
        with pytest.raises(ShortTermError):
            await store.claim(WORK, lease=1.0)
        assert 1 <= len(connected) <= 4


async def test_a_connection_that_the_server_has_closed_is_opened_again(redis_url):
    async with redis_store(redis_url) as store:
        await store.touch("ann", "1")
        with redis.Redis.from_url(redis_url) as other:
            other.client_kill_filter(_type="normal", skipme=True)
        assert await store.session_state("ann", "1") == "ACTIVE"


async def test_scripts_that_the_server_has_forgotten_are_sent_again(redis_url):
    async with redis_store(redis_url) as store:
        await store.release(WORK, "0")
        with redis.Redis.from_url(redis_url) as other:
            other.script_flush()
        assert not await store.release(WORK, "0")


async def test_more_callers_than_connections_wait_for_one(redis_url, monkeypatch):
    monkeypatch.setattr(connecting, "CONNECT_SECONDS", 60.0)  # that they wait is shown, and not how long
    client = RedisClient(redis_url, answer=60.0, total=60.0)
    counts = await asyncio.gather(*(client.command("INCR", "calls") for _ in range(200)))
    await client.close()
    assert sorted(counts) == list(range(1, 201))


async def test_a_process_starts_though_redis_is_down(database):
    settings = Settings(redis_url="redis://127.0.0.1:1/0")
    async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=16)) as storage:
        with pytest.raises(ShortTermError):
            await storage.short_term.touch("ann", "1")
        assert (await storage.summaries.get("ann", "1")).rounds == 0


@pytest.mark.parametrize("stored", [b"no JSON", b"[]", b"{}", b'{"rid": 1, "timestamp": "x", "input": 1, "output": 2}'])
async def test_what_is_no_round_and_no_answer_is_an_error_that_does_not_quote_it(redis_url, stored):
    async with redis_store(redis_url) as store:
        with redis.Redis.from_url(redis_url) as other:
            other.rpush(session_keys("ann", "1").history, stored)
            other.set(work_keys(WORK).result, stored)
        for call in (store.recent_rounds("ann", "1"), store.claim(WORK, lease=1.0)):
            with pytest.raises(ShortTermError) as caught:
                await call
            assert stored.decode() not in f"{caught.value}{caught.value.__cause__}"


async def test_a_key_of_another_type_is_an_error(redis_url):
    async with redis_store(redis_url) as store:
        with redis.Redis.from_url(redis_url) as other:
            other.set(session_keys("ann", "1").history, "a string")
        with pytest.raises(ShortTermError, match="ResponseError"):
            await store.append_round("ann", "1", SAID)


async def test_a_sealed_round_that_was_moved_to_another_thread_is_not_opened(redis_url):
    from discreet.testing import InMemoryKeys

    async with redis_store(redis_url, sealer=FieldSealer(InMemoryKeys())) as store:
        await store.append_round("ann", "1", SAID)
        assert await store.recent_rounds("ann", "1") == [SAID]
        with redis.Redis.from_url(redis_url) as other:
            other.copy(session_keys("ann", "1").history, session_keys("bob", "1").history)
        assert await store.recent_rounds("bob", "1") == []


async def test_histories_have_the_names_of_version_1(redis_url):
    async with redis_store(redis_url) as store:
        await store.append_round("ann", "1", SAID)
        with redis.Redis.from_url(redis_url) as other:
            [item] = other.lrange("session:{ann}:1:history", 0, -1)
    assert json.loads(item) == {
        "input": "hi",
        "output": "hello",
        "rid": "r",
        "timestamp": 1_772_323_200_000,
        "is_emergency": False,
    }


@pytest.mark.parametrize("place", ["postgres", "redis", ON_CLUSTER], indirect=True)
async def test_nothing_is_stored_when_the_redactor_fails(place):
    settings = Settings(redis_url=place.url or None)
    opened = open_storage(place.dsn, settings=settings, embeddings=StubEmbeddings(dims=16), redactor=Broken())
    async with opened as storage:
        store = storage.short_term
        claim = await store.claim(WORK, lease=60.0)
        for call in (store.append_round("ann", "1", SAID), store.finish(WORK, claim.token, "answer")):
            with pytest.raises(RuntimeError):
                await call
        assert await store.recent_rounds("ann", "1") == []
        assert await store.forget("ann") == 1  # the claim


@pytest.mark.slow
def test_redis_py_is_imported_by_those_only_who_use_it():
    script = "import sys, discreet.storage; sys.exit('redis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_without_redis_py_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingDependencyError, match="pip install 'redis"):
        RedisShortTermStore("redis://127.0.0.1", redactor=Unchanged(), sealer=FieldSealer(None))


def test_a_cluster_needs_a_redis_py_whose_calls_go_on_after_a_failover(monkeypatch):
    monkeypatch.setattr(redis, "__version__", "8.0.1")
    with pytest.raises(MissingDependencyError, match=r"redis>=8\.1"):
        RedisShortTermStore("redis+cluster://127.0.0.1:1", redactor=Unchanged(), sealer=FieldSealer(None))


@pytest.mark.parametrize(
    "url",
    [
        f"http://ann:{PASSWORD}@127.0.0.1",
        f"redis://ann:{PASSWORD}@127.0.0.1:port/0",
        f"rediss://ann:{PASSWORD}@127.0.0.1/0?ssl_cert_reqs=none",
        f"rediss://ann:{PASSWORD}@127.0.0.1/0?ssl_check_hostname=false",
        f"rediss+cluster://ann:{PASSWORD}@127.0.0.1,127.0.0.2?ssl_cert_reqs=none",
        f"rediss+cluster://ann:{PASSWORD}@127.0.0.1?ssl_check_hostname=false",
        f"redis+cluster://ann:{PASSWORD}@127.0.0.1:6379/1",
        f"redis+cluster://ann:{PASSWORD}@127.0.0.1:6379,127.0.0.1:port",
        f"redis+cluster://ann:{PASSWORD}@127.0.0.1:6379?words=1",
        f"redis+cluster://ann:{PASSWORD}@",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url):
    with pytest.raises(ConfigurationError, match="DISCREET_REDIS_URL") as caught:
        RedisShortTermStore(url, redactor=Unchanged(), sealer=FieldSealer(None))
    assert PASSWORD not in f"{caught.value!r} {caught.value.__cause__!r}"
