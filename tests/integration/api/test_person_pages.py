"""People, a person's timeline and conflicts on the admin page over a real database."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from fastapi import FastAPI
from testkit.conflicts import plant_conflict
from testkit.conversations import talk
from testkit.pages import Gate, Web
from testkit.proposals import plant_proposal

from discreet.api.admin import make_admin_router
from discreet.rights.erasure import Receipt
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.audit.exporting import entries
from discreet.testing import StubEmbeddings

PEOPLE, CONFLICTS = "/memory/admin/people", "/memory/admin/conflicts"
LONG_AGO = datetime.now(UTC) - timedelta(days=3)


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as opened:
        yield opened


@pytest.fixture
async def world(storage, make_services):
    gate = Gate()
    services = replace(
        make_services(storage),
        storage=lambda: storage,
        authenticator=gate,
        memory_settings=storage.memory_settings,
    )
    app = FastAPI()
    app.include_router(make_admin_router(services))
    ann = gate.identity("ann")
    await talk(storage, "Write to ann@example.com", user=ann, thread="talk")
    await storage.memories.save(ann, [MemoryRecord(text="Ann keeps two parrots", thread_id="talk")])
    return SimpleNamespace(app=app, gate=gate, storage=storage, ann=ann, key=storage.background.key_of(ann))


@pytest.fixture
async def admin(world):
    browser = Web(world.app)
    async with browser.http:
        await browser.sign_in(world.gate.boss)
        yield browser


@pytest.mark.slow
async def test_an_administrator_lands_on_people_and_follows_one_to_their_timeline(admin, world):
    assert admin.page.url.path == PEOPLE
    assert str(world.key) in admin.text
    assert "1 memory 1 turn last seen" in admin.words
    await admin.get(f"{PEOPLE}/{world.key}")
    assert "Ann keeps two parrots" in admin.words
    assert 'Write to <mark class="mask">&lt;EMAIL' in admin.text
    assert "ann@example.com" not in admin.text


@pytest.mark.slow
async def test_all_that_is_known_by_a_key_works_by_it(admin, world):
    await admin.get(f"{PEOPLE}/{world.key}/memories")
    await admin.send(query="parrots")
    assert "Ann keeps two parrots" in admin.words
    path = re.search(rf'href="({PEOPLE}/{world.key}/memories/[^"?]*)\?', admin.text)[1]
    await admin.get(f"{path}/edit")
    await admin.send(text="Ann keeps three parrots")
    assert "The memory is saved." in admin.words
    [kept] = [each.text for each in await world.storage.memories.latest(world.ann)]
    assert kept == "Ann keeps three parrots"
    await admin.get(f"{PEOPLE}/{world.key}/recall")
    await admin.send(question="How many parrots?")
    assert "in the prompt, number 1" in admin.words


async def test_to_export_or_erase_one_says_who_it_is(admin, world):
    for page in ("export", "erase"):
        assert (await admin.get(f"{PEOPLE}/{world.key}/{page}")).status_code == 409
    await admin.get(f"{PEOPLE}/{world.key}/name")
    await admin.send(subject="bob")
    assert "That is somebody else" in admin.words
    await admin.send(subject="ann")
    assert admin.page.url.path == f"{PEOPLE}/{world.ann}"
    assert "ann" in admin.words
    assert "subject" not in str(admin.page.url)
    assert (await admin.get(f"{PEOPLE}/{world.ann}/export")).status_code == 200


@pytest.mark.slow
async def test_a_name_stands_above_the_pages_of_whom_it_names_alone(admin, world):
    bob = world.storage.background.key_of("bob")
    await admin.get(f"{PEOPLE}/{world.key}/name")
    await admin.send(subject="ann")
    view = admin.page.url.query.decode()
    for person, shown in ((world.key, True), (world.ann, True), (bob, False)):
        await admin.get(f"{PEOPLE}/{person}?{view}")
        assert ('<strong dir="auto">ann</strong>' in admin.text) is shown


@pytest.mark.slow
async def test_an_erasure_leaves_its_receipt_on_the_timeline(admin, world):
    await admin.get(f"{PEOPLE}/{world.ann}/erase")
    await admin.send(scope="all")
    await admin.post(f"{PEOPLE}/{world.ann}/erase", admin.fields() | {"seen": "yes", "scope": "all"})
    await admin.get(f"{PEOPLE}/{world.key}")
    assert "Ann keeps" not in admin.words
    path = re.search(r'href="([^"]*/receipts/[^"?]*)', admin.text)[1]
    await admin.get(path)
    assert "Receipt of an erasure" in admin.words
    file = await admin.get(f"{path}?as=file")
    assert "attachment" in file.headers["content-disposition"]
    Receipt.read(file.text).check(world.storage.background.keys)
    bob = world.storage.background.key_of("bob")
    assert (await admin.get(path.replace(str(world.key), str(bob)))).status_code == 404


async def test_what_waits_and_jobs_are_found_on_the_timeline_alone_if_asked(admin, world, database):
    plant_proposal(database, world.key, text="Ann likes tea")
    await admin.get(f"{PEOPLE}/{world.key}")
    [link] = re.findall(r'<a href="([^"]*)">Waiting for review</a>', admin.text)
    await admin.get(link)
    assert "Ann likes tea" in admin.words
    assert "Ann keeps" not in admin.words


@pytest.mark.slow
async def test_a_long_timeline_has_pages(admin, world):
    await talk(world.storage, *(f"Turn number {n}" for n in range(60)), user=world.ann, thread="long", prefix="x")
    await admin.get(f"{PEOPLE}/{world.key}")
    assert "Turn number 59" in admin.words
    assert "Turn number 3 " not in admin.words
    [link] = re.findall(r'<a class="button quiet" href="([^"]*)">Earlier</a>', admin.text)
    await admin.get(link)
    assert "Turn number 3 " in admin.words
    assert ">Newest</a>" in admin.text


@pytest.mark.slow
async def test_a_key_of_nobody_has_no_pages(admin):
    for path in ("", "/receipts/x", f"/receipts/{uuid4()}"):
        assert (await admin.get(f"{PEOPLE}/{uuid4()}{path}")).status_code == 404


@pytest.fixture
async def pair(world, database):
    older = MemoryRecord(text="Ann is a vegetarian", created_at=LONG_AGO)
    newer = MemoryRecord(text="Ann eats fish", created_at=LONG_AGO, conflict_flags=[str(older.entry_id)])
    await world.storage.memories.save(world.ann, [older, newer], dedup=False)
    plant_conflict(database, world.key, older, newer)
    return older, newer


@pytest.mark.slow
@pytest.mark.parametrize("path", [CONFLICTS, PEOPLE + "/{}/conflicts"])
async def test_a_conflict_is_seen_and_settled_by_name(admin, world, pair, path):
    await admin.get(path.format(world.key))
    assert "Ann is a vegetarian" in admin.words
    assert "Ann eats fish" in admin.words
    assert (await admin.send(keep="neither")).status_code == 422
    await admin.get(path.format(world.key))
    await admin.send(keep="newer")
    assert "The newer memory stays." in admin.words
    assert "There is nothing to settle." in admin.words
    texts = {each.text for each in await world.storage.memories.latest(world.ann)}
    assert texts == {"Ann keeps two parrots", "Ann eats fish"}
    await admin.get(f"{PEOPLE}/{world.key}/memories/{pair[0].entry_id}")
    assert "What took its place" not in admin.words or "Ann eats fish" in admin.words
    actions = [row["action"] async for row in entries(world.storage.works_pool) if row["user_key"] == world.key]
    assert "memory.settle" in actions
    assert "memory.read" in actions


async def test_only_administrators_and_only_their_own_forms_settle(world, pair):
    older, newer = pair
    stranger = Web(world.app)
    async with stranger.http:
        for path in (PEOPLE, f"{PEOPLE}/{world.key}", CONFLICTS):
            await stranger.get(path)
            assert "<h1>Sign in</h1>" in stranger.text
        path = f"{CONFLICTS}/{world.key}/{older.entry_id}/{newer.entry_id}"
        assert (await stranger.post(path, {"keep": "newer"})).status_code == 401
        await stranger.sign_in(world.gate.boss)
        assert (await stranger.post(path, {"keep": "newer"})).status_code == 403
    assert len(await world.storage.people.conflicts(limit=9)) == 1


async def test_who_has_memories_alone_is_on_a_list_of_their_own(admin, world):
    await world.storage.memories.save("bob", [MemoryRecord(text="Imported")])
    key = str(world.storage.background.key_of("bob"))
    await admin.get(PEOPLE)
    assert key not in admin.text
    await admin.get(f"{PEOPLE}?list=quiet")
    assert key in admin.text
    assert str(world.key) not in admin.text
