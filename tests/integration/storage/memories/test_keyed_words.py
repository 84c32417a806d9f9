"""The words that memories are found by: who has the tables and not the identity key can't tell which they are."""

from __future__ import annotations

import base64
import hashlib
import zlib
from datetime import UTC, datetime

import psycopg
import pytest
from pgvector import SparseVector
from testkit.sums import first_sum

from discreet.encryption import Keyring, make_key
from discreet.retrieval.lexical import CONTEXT
from discreet.retrieval.tokens import tokens
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.memories.token_counts import TokenSums
from discreet.testing import StubEmbeddings

SAID = [
    "Caroline: the parrot sleeps beside the harpsichord",
    "Con mèo của tôi sợ sấm và thích cá hồi",
    "Сестра собирает редкие марки и фарфор",
    "我的妹妹喜欢养蜂和弹古筝",
]
DAY = datetime(2026, 3, 1, tzinfo=UTC)
ASKED = [
    "Where does the parrot sleep?",
    "mèo sợ sấm",
    "какие марки собирает сестра",
    "谁喜欢养蜂",
    "What did Caroline say in March 2026?",
]

UNKEYED = [zlib.crc32, zlib.adler32]
UNKEYED += [
    lambda data, name=name, order=order, size=size: int.from_bytes(hashlib.new(name, data).digest()[:size], order)
    for name in ("md5", "sha1", "sha256", "blake2b", "blake2s")
    for order in ("big", "little")
    for size in (4, 8)
]
UNKEYED += [
    lambda data, order=order: int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), order)
    for order in ("big", "little")
]

COUNTED = "SELECT unnest(tokens) FROM discreet.user_token UNION SELECT token FROM discreet.token_frequency"
LEXICAL = "SELECT lexical::text FROM discreet.memory WHERE lexical IS NOT NULL"


def quiet(key=0):
    identity_key = base64.b64encode(bytes([key]) * 32).decode()
    return Settings(reembed=False, identity_key=identity_key)


async def said(dsn, *, settings, keys=None):
    """Have what is in `SAID` in all tables that know words; return what is found by the questions of `ASKED`."""
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=64), settings=settings, keys=keys) as storage:
        await first_sum(storage)
        turns = [
            MemoryRecord(text=text, type="turn", thread_id="thread", position=at, created_at=DAY)
            for at, text in enumerate(SAID)
        ]
        await storage.memories.save("ann", turns)
        for at, text in enumerate(SAID):
            await storage.store.aput(("notes", "ann"), str(at), {"text": text}, index=["text"])
        async with storage.works_pool.connection() as conn, conn.cursor(binary=True) as cursor:
            await TokenSums(storage.works_pool).sum(cursor)
        found = [await storage.memories.search("ann", query, limit=4) for query in ASKED]
        items = [await storage.store.asearch(("notes", "ann"), query=query, limit=4) for query in ASKED]
    results = [(hit.record.text, hit.score) for hits in found for hit in hits]
    return results + [(item.value["text"], item.score) for hits in items for item in hits]


def stored(dsn):
    """Return the number of each word and mark in the tables."""
    with psycopg.connect(dsn) as connection:
        counted = {number for (number,) in connection.execute(COUNTED).fetchall()}
        vectors = [SparseVector.from_text(text) for (text,) in connection.execute(LEXICAL).fetchall()]
    return counted | {place % CONTEXT for vector in vectors for place in vector.indices()}


def guesses():
    """Return what the tables would hold of these words and marks if no key were needed to make it."""
    words = {token for text in SAID for token in tokens(text)}
    words |= {f"speaker: {word}" for word in words} | {"day: 1", "month: 3", "year: 2026"}
    numbers = {hashed(word.encode()) for word in words for hashed in UNKEYED}
    return {number % room for number in numbers for room in (CONTEXT, 2 * CONTEXT, 2**31, 2**32, 2**63)} | numbers


@pytest.mark.dialect
@pytest.mark.parametrize("keys", [None, Keyring([make_key()])], ids=["plain", "sealed"])
async def test_a_list_of_words_tells_none_that_was_said(database, keys):
    await said(database, settings=quiet(), keys=keys)
    assert len(stored(database)) > 30
    assert not stored(database) & guesses()


async def test_another_key_makes_other_numbers_and_finds_the_same(make_database, migrated_template):
    results, numbers = [], []
    for key in (0, 1):
        with make_database(template=migrated_template) as dsn:
            results.append(await said(dsn, settings=quiet(key)))
            numbers.append(stored(dsn))
    (texts, scores), (texts_again, scores_again) = (zip(*each, strict=True) for each in results)
    assert texts == texts_again
    assert scores == pytest.approx(scores_again, abs=1e-5)
    assert len(numbers[0]) == len(numbers[1])
    assert not numbers[0] & numbers[1]
