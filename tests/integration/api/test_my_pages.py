"""A user's own memories at /memory/me: seen, corrected, forgotten and taken away by them, and by nobody else."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from testkit.conversations import talk
from testkit.pages import Gate, Web

from discreet.api.app import make_app
from discreet.api.pages import login
from discreet.rights.erasure import Erasures, Receipt, Scope
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.audit.exporting import entries
from discreet.testing import StubEmbeddings

ME = "/memory/me"
LONG_AGO = datetime.now(UTC) - timedelta(days=3)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(login, "PAUSE_SECONDS", 0)


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as opened:
        yield opened


@pytest.fixture
async def world(storage, make_services):
    gate = Gate()
    services = replace(
        make_services(storage), storage=lambda: storage, authenticator=gate, memory_settings=storage.memory_settings
    )
    kept = {}
    for subject, text in (("clerk", "The clerk keeps two parrots"), ("boss", "The boss keeps a cat")):
        user = gate.identity(subject)
        record = MemoryRecord(text=text, thread_id=f"talk of {subject}", created_at=LONG_AGO)
        [kept[subject]] = await storage.memories.save(user, [record])
        await talk(storage, text, user=user, thread=f"talk of {subject}")
    return SimpleNamespace(app=make_app(services), gate=gate, storage=storage, kept=kept, services=services)


@pytest.fixture
async def clerk(world):
    """Somebody who is no administrator, signed in."""
    browser = Web(world.app)
    async with browser.http:
        await browser.sign_in(world.gate.clerk, ME)
        assert browser.page.url.path == f"{ME}/memories"
        yield browser


@pytest.fixture
def mine(world):
    async def mine(subject="clerk", **options):
        return await world.storage.memories.latest(world.gate.identity(subject), **options)

    return mine


@pytest.mark.slow
async def test_one_sees_ones_own_with_dates_and_where_it_was_said(clerk):
    assert "The clerk keeps two parrots" in clerk.words
    assert f"{LONG_AGO:%Y-%m-%d}" in clerk.words
    assert "said in the conversation talk of clerk" in clerk.words
    assert "boss" not in clerk.words
    await clerk.send(query="parrots")
    assert "The clerk keeps two parrots" in clerk.words
    assert "parrots" not in str(clerk.page.url)
    await clerk.get(f"{ME}/memories")
    await clerk.send(query="")
    assert clerk.page.url.query == b""


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_long_list_has_pages(world, clerk, mine):
    for number in range(25):
        record = MemoryRecord(text=f"Fact number {number}", created_at=LONG_AGO + timedelta(minutes=number + 1))
        await world.storage.memories.save(world.gate.identity("clerk"), [record], dedup=False)
    await clerk.get(f"{ME}/memories")
    assert "Fact number 24" in clerk.words
    assert "parrots" not in clerk.words
    [link] = re.findall(r'href="([^"]*older_than=[^"]*)"', clerk.text)
    await clerk.get(link)
    assert "parrots" in clerk.words


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_correction_takes_the_place_of_what_was_wrong(world, clerk, mine):
    old = world.kept["clerk"]
    await clerk.get(f"{ME}/memories/{old.entry_id}/correct")
    await clerk.send(text="The clerk keeps three parrots, write to clerk@example.com")
    assert "It is corrected." in clerk.words
    [new] = await mine()
    assert new.text.startswith("The clerk keeps three parrots, write to <EMAIL")
    assert (new.thread_id, new.provenance.source) == (old.thread_id, "user")
    ended = [each for each in await mine(held=False) if each.entry_id == old.entry_id]
    assert [each.valid_to for each in ended] == [new.created_at]
    await clerk.get(f"{ME}/memories/{old.entry_id}/correct")
    assert clerk.page.status_code == 409
    rows = [row async for row in entries(world.storage.works_pool) if row["action"] == "memory.write"]
    assert rows[-1]["actor_kind"] == "user"


@pytest.mark.parametrize("text", ["", "x" * 4_001])
async def test_what_cant_be_kept_is_told_beside_its_field(world, clerk, mine, text):
    await clerk.get(f"{ME}/memories/{world.kept['clerk'].entry_id}/correct")
    page = await clerk.send(text=text)
    assert page.status_code == 422
    assert 'aria-invalid="true"' in page.text
    assert [each.text for each in await mine()] == ["The clerk keeps two parrots"]


@pytest.mark.slow
async def test_one_memory_is_forgotten_after_a_question(world, clerk, mine):
    await clerk.get(f"{ME}/memories/{world.kept['clerk'].entry_id}/forget")
    assert len(await mine()) == 1
    await clerk.send()
    assert "It is forgotten." in clerk.words
    assert await mine() == []
    assert len(await mine("boss")) == 1


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_was_said_is_forgotten_by_ones_own_words_after_a_look(world, clerk, mine):
    await clerk.get(f"{ME}/forget")
    await clerk.post(f"{ME}/forget", {**clerk.fields(), "scope": "said", "text": ""})
    assert clerk.page.status_code == 422
    await clerk.post(f"{ME}/forget", {**clerk.fields(), "scope": "said", "text": "I keep two parrots"})
    assert "This would go" in clerk.words
    assert len(await mine()) == 1
    await clerk.send()
    assert "It is forgotten" in clerk.words
    assert await mine() == []


@pytest.mark.slow
async def test_everything_is_forgotten_after_a_look_and_leaves_a_receipt(world, clerk, mine):
    await clerk.get(f"{ME}/forget")
    await clerk.send()
    assert "Everything would go" in clerk.words
    assert "Memories 1" in clerk.words
    assert "Turns of conversations 1" in clerk.words
    await clerk.send()
    path = clerk.page.url.path
    assert path.startswith(f"{ME}/receipts/")
    file = await clerk.get(f"{path}?as=file")
    receipt = Receipt.read(file.text)
    receipt.check(world.storage.background.keys)
    assert receipt.scope == "all"
    assert await mine() == []
    assert len(await mine("boss")) == 1


@pytest.mark.slow
async def test_everything_is_taken_away_as_a_file(clerk):
    await clerk.get(f"{ME}/take-away")
    file = await clerk.get(f"{ME}/export")
    assert "attachment" in file.headers["content-disposition"]
    assert "The clerk keeps two parrots" in file.text
    assert "boss" not in file.text


@pytest.mark.slow
async def test_a_name_of_another_user_leads_nowhere(world, clerk, mine):
    """As `ownership_battery`: each address that names something is tried with what is somebody else's."""
    theirs = world.kept["boss"].entry_id
    receipt = await Erasures(world.storage).erase(
        world.gate.identity("boss"), Scope.model_validate({"name": "said", "text": "nothing"})
    )
    await clerk.get(f"{ME}/forget")
    fields = clerk.fields()
    for path in (f"memories/{theirs}/correct", f"memories/{theirs}/forget", f"receipts/{receipt.erasure_key}"):
        assert (await clerk.get(f"{ME}/{path}")).status_code == 404
    for path, typed in ((f"memories/{theirs}/correct", {"text": "Mine now"}), (f"memories/{theirs}/forget", {})):
        assert (await clerk.post(f"{ME}/{path}", fields | typed)).status_code == 404
    assert "boss" not in (await clerk.get(f"{ME}/memories?older_than={theirs}")).text
    for name in ("user", "user_id", "subject", "identity"):
        assert "cat" not in (await clerk.get(f"{ME}/memories?{name}={world.gate.identity('boss')}")).text
        assert "cat" not in (await clerk.get(f"{ME}/export?{name}={world.gate.identity('boss')}")).text
        everything = fields | {"scope": "all", "seen": "yes", name: world.gate.identity("boss")}
        await clerk.post(f"{ME}/forget", everything)
    assert [each.text for each in await mine("boss")] == ["The boss keeps a cat"]


PATHS = ["memories", "memories/{}/correct", "memories/{}/forget", "forget", "take-away", "export"]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("path", PATHS)
async def test_without_a_session_every_page_leads_to_the_login(world, path):
    stranger = Web(world.app)
    async with stranger.http:
        answer = await stranger.http.get(f"{ME}/{path.format(world.kept['clerk'].entry_id)}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{ME}/login")


FORMS = ["memories", "memories/{}/correct", "memories/{}/forget", "forget", "logout"]


@pytest.mark.slow
@pytest.mark.parametrize("path", FORMS)
async def test_a_form_of_another_site_or_without_its_token_does_nothing(world, clerk, mine, path):
    address = f"{ME}/{path.format(world.kept['clerk'].entry_id)}"
    await clerk.get(f"{ME}/forget")
    fields = clerk.fields() | {"scope": "all", "seen": "yes", "text": "Hacked"}
    for headers in ({"origin": "http://evil.test"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert (await clerk.post(address, fields, headers=headers)).status_code == 403
    assert (await clerk.post(address, fields | {"form_token": "wrong"})).status_code == 403
    assert [each.text for each in await mine()] == ["The clerk keeps two parrots"]


async def test_a_session_is_for_these_pages_alone_and_new_with_each_sign_in(world):
    web = Web(world.app)
    async with web.http:
        await web.get(f"{ME}/login")
        before = web.http.cookies["discreet_me"]
        planted = web.fields()["form_token"]
        await web.send(credential=world.gate.boss)
        after = web.http.cookies["discreet_me"]
        assert before != after
        assert (
            await web.post(f"{ME}/forget", {"form_token": planted, "scope": "all", "seen": "yes"})
        ).status_code == 403
        web.http.cookies.clear()
        for path in ("/memory/admin/settings", "/memory/admin/people"):
            answer = await web.http.get(path, headers={"cookie": f"discreet_admin={after}"})
            assert answer.status_code == 303
        answer = await web.http.get(f"{ME}/memories", headers={"cookie": f"discreet_me={before}"})
        assert answer.status_code == 303
    assert len(await world.storage.memories.latest(world.gate.identity("boss"))) == 1


@pytest.mark.slow
async def test_the_cookie_is_strict_and_a_wrong_key_is_refused_in_the_log(world, caplog, token):
    web = Web(world.app)
    async with web.http:
        assert (await web.sign_in(token, ME)).status_code == 401
        assert "pages.login_refused area=me reason=unknown" in caplog.text
        assert token not in web.text + caplog.text
        answer = await web.http.post(f"{ME}/login", data={**web.fields(), "credential": world.gate.clerk})
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/memory/me"))


@pytest.mark.slow
async def test_signing_out_ends_it(clerk):
    cookie = clerk.http.cookies["discreet_me"]
    await clerk.post(f"{ME}/logout", {"form_token": clerk.fields()["form_token"]})
    answer = await clerk.http.get(f"{ME}/memories", headers={"cookie": f"discreet_me={cookie}"})
    assert answer.status_code == 303


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("asked", "heading"),
    [
        ("en-GB, ru;q=0.5", "What is remembered of you"),
        ("vi", "Những gì được ghi nhớ về bạn"),
        ("fr, ru;q=0.9", "Что о вас помнят"),
        ("zh-TW", "系统记住的关于您的内容"),
        ("fr", "What is remembered of you"),
    ],
)
async def test_the_pages_speak_the_language_that_the_browser_asks_for(clerk, asked, heading):
    await clerk.get(f"{ME}/memories", headers={"accept-language": asked})
    assert f"<h1>{heading}</h1>" in clerk.text
    assert re.search(r'<html lang="(en|vi|ru|zh)">', clerk.text)
    await clerk.get(f"{ME}/memories/{uuid4()}/correct", headers={"accept-language": "ru"})
    assert "Такой страницы нет" in clerk.words
