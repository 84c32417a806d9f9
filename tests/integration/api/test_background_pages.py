"""Jobs and Review of the admin page over a real database."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import uuid4

import psycopg
import pytest
from fastapi import FastAPI
from psycopg.types.json import Jsonb
from testkit.conversations import talk
from testkit.pages import Gate, Web
from testkit.proposals import plant_proposal

from discreet.api.admin import make_admin_router
from discreet.state.memory_settings import MemorySettings
from discreet.storage import open_storage
from discreet.testing import InMemorySettingsStore, StubEmbeddings

JOBS, REVIEW = "/memory/admin/jobs", "/memory/admin/review"
FIGURES = {
    "applied": 40,
    "failed": 2,
    "added": 12,
    "superseded": 1,
    "summaries": 3,
    "refused_not_stated": 4,
    "refused_no_source": 1,
    "strange_thing": 7,
    "input_tokens": 2_000_000,
    "output_tokens": 100_000,
}


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as opened:
        yield opened


@pytest.fixture
def store():
    return InMemorySettingsStore(MemorySettings(memory_extraction_review=True))


@pytest.fixture
def world(storage, make_services, store):
    gate = Gate()
    services = replace(make_services(storage), authenticator=gate, memory_settings=store)
    app = FastAPI()
    app.include_router(make_admin_router(services))
    return SimpleNamespace(app=app, gate=gate)


@pytest.fixture
async def admin(world):
    browser = Web(world.app)
    async with browser.http:
        await browser.sign_in(world.gate.boss)
        yield browser


@pytest.fixture
def make_job(storage, database):
    """Return a function that makes a batch, with other values if given."""

    async def make(**values):
        job = await storage.background.jobs.open("openai", "gpt-4o-mini", lease_seconds=1)
        if values:
            fields = ", ".join(f"{name} = %({name})s" for name in values)
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(
                    f"UPDATE discreet.batch_jobs SET {fields} WHERE job_key = %(job_key)s",
                    {**values, "job_key": job.job_key},
                )
        return job.job_key

    return make


@pytest.fixture
def make_proposal(storage, database):
    def make(user="ann", **values):
        user_key = storage.background.key_of(user)
        return f"{REVIEW}/{user_key}/{plant_proposal(database, user_key, **values)}"

    return make


def done(**values):
    now = datetime.now(UTC)
    return {"state": "completed", "requests": 42, "done_at": now, "figures": Jsonb(FIGURES), "batch_id": "b-1"} | values


@pytest.mark.slow
async def test_a_batch_is_shown_with_what_came_of_it_and_what_it_cost(admin, make_job):
    await make_job(**done())
    await admin.get(JOBS)
    for told in (
        "openai gpt-4o-mini completed",
        "42 prompts",
        "40 applied, 2 failed",
        "12 new, 1 in the place of older ones",
        "4 not stated, 1 no source",
        "3 of sessions",
        "7 strange thing",
        "2,000,000 read, 100,000 written",
        "about 0.18 USD",
        "list prices of 2026-11-01",
    ):
        assert told in admin.words
    assert "<script" not in admin.text


@pytest.mark.slow
async def test_a_model_without_a_price_and_an_error_are_told(admin, make_job):
    await make_job(**done(model="nobody-knows", state="failed", error="provider"))
    await admin.get(JOBS)
    assert "the list has no price of this model" in admin.words
    assert "Error provider" in admin.words


async def test_what_waits_is_told(storage, admin, store):
    await talk(storage, "I keep two parrots.", user="ann")
    await talk(storage, "I keep two dogs.", user="bob", thread="other", at=datetime.now(UTC))
    await admin.get(JOBS)
    assert "Sessions due 1 by inactivity; 2 have new turns" in admin.words
    assert "No worker is alive" in admin.words
    await storage.background.watch.seen(uuid4())
    await admin.get(JOBS)
    assert "Workers alive 1" in admin.words
    assert "No worker is alive" not in admin.words
    await store.change({"memory_extraction_enabled": False}, by="x")
    await admin.get(JOBS)
    assert "Extraction is off." in admin.words


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_batch_is_ended_once(storage, admin, make_job):
    key = await make_job(state="running")
    await admin.get(JOBS)
    await admin.send()
    assert "The batch is being ended." in admin.words
    assert "is being ended" in admin.words
    assert (await storage.background.jobs.get(key)).is_cancelled
    assert "End this batch" not in admin.words
    await make_job(**done())
    over = await make_job(state="running")
    await admin.get(JOBS)
    with_token = admin.fields()
    await storage.background.jobs.drop(await storage.background.jobs.get(over))
    await admin.post(f"{JOBS}/{over}/cancel", with_token)
    assert "Nothing was changed: the batch was done already." in admin.words


@pytest.mark.slow
async def test_what_failed_is_tried_again(storage, admin, make_job, database):
    key = await make_job(**done())
    user_key = storage.background.key_of("ann")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("INSERT INTO discreet.users (user_key) VALUES (%s)", [user_key])
        connection.execute(
            """
            INSERT INTO discreet.batch_requests (
                user_key, request_key, kind, thread_key, thread_id, app_name, trigger, epoch, request_ids, state, created_at,
                due_at, job_key
            )
            VALUES (%s, %s, 'extraction', %s, 't', 'default', 'manual', 1, '{r}', 'failed', now(), now(), %s)
            """,
            [user_key, uuid4(), uuid4(), key],
        )
    await admin.get(JOBS)
    await admin.send()
    assert "What failed or was dropped waits for the next batch." in admin.words
    assert (await storage.background.watch.status()).requests == {"pending": 1}
    await admin.send()
    assert "There was nothing to try again." in admin.words


@pytest.mark.slow
async def test_batches_come_in_pages_and_a_button_leads_back_to_its_own(admin, make_job):
    for number in range(23):
        await make_job(**done(told=f"job-{number:02}"))
    await admin.get(JOBS)
    assert re.findall(r"job-\d\d", admin.text) == [f"job-{number:02}" for number in range(22, 2, -1)]
    older = re.search(r'href="([^"]*before=[^"]*)"', admin.text)[1]
    await admin.get(older.replace("&amp;", "&"))
    assert re.findall(r"job-\d\d", admin.text) == ["job-02", "job-01", "job-00"]
    await admin.send()
    assert "There was nothing to try again." in admin.words
    assert re.findall(r"job-\d\d", admin.text) == ["job-02", "job-01", "job-00"]


@pytest.mark.slow
async def test_a_memory_is_accepted_refused_or_edited(storage, admin, make_proposal):
    for text in ("Likes tea", "Likes coffee", "Likes chicory"):
        make_proposal(text=text)
    await admin.get(REVIEW)
    paths = re.findall(r'action="([^"]*)/accept"', admin.text)
    assert [admin.words.index(text) for text in ("Likes tea", "Likes coffee")] == sorted(
        admin.words.index(text) for text in ("Likes tea", "Likes coffee")
    )
    fields = admin.fields()
    await admin.post(f"{paths[0]}/accept", fields)
    assert "The memory is kept." in admin.words
    assert "Likes tea" not in admin.words
    await admin.post(f"{paths[1]}/refuse", fields)
    assert "The memory is refused." in admin.words
    await admin.get(f"{paths[2]}/edit")
    assert admin.fields()["text"] == "Likes chicory"
    typed = {"text": "Likes tea from ann@example.com", "importance": "8", "tags": "drinks\n\ntea", "type": "preference"}
    await admin.send(**typed)
    assert "The memory is kept." in admin.words
    assert "Nothing waits." in admin.words
    kept = {record.text: record for record in await storage.memories.latest("ann")}
    edited = next(record for text, record in kept.items() if text != "Likes tea")
    assert "ann@example.com" not in edited.text
    assert (edited.type, edited.importance, edited.tags) == ("preference", 8, ["drinks", "tea"])
    assert edited.provenance.source == "admin"
    for path in paths:
        await admin.post(f"{path}/accept", fields)
        assert "somebody has decided on this memory meanwhile" in admin.words
    await admin.get(f"{paths[0]}/edit")
    assert "somebody has decided on this memory meanwhile" in admin.words


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"text": "  "}, "Write what is remembered"),
        ({"text": "x" * 4_001}, "4,001 characters"),
        ({"importance": "11"}, "A whole number from 1 to 10."),
        ({"tags": "x" * 101}, "At most 50 tags"),
        ({"type": "turn"}, "There is no such type."),
    ],
)
async def test_what_cannot_be_kept_is_told_beside_its_field_and_nothing_is_lost(admin, make_proposal, typed, told):
    path = make_proposal(text="Likes tea")
    await admin.get(f"{path}/edit")
    page = await admin.send(**({"text": "Likes mate"} | typed))
    assert page.status_code == 422
    assert told in admin.words
    [name] = typed
    assert f'id="error.{name}"' in admin.text
    if name != "text":
        assert admin.fields()["text"] == "Likes mate"
    await admin.get(REVIEW)
    assert "Likes tea" in admin.words


@pytest.mark.slow
async def test_what_waits_comes_in_pages_of_all_users(admin, make_proposal):
    for number in range(23):
        make_proposal(f"u{number}", text=f"fact-{number:02}")
    await admin.get(REVIEW)
    assert re.findall(r"fact-\d\d", admin.text) == [f"fact-{number:02}" for number in range(20)]
    later = re.search(r'href="([^"]*after=[^"]*)"', admin.text)[1]
    await admin.get(later.replace("&amp;", "&"))
    assert re.findall(r"fact-\d\d", admin.text) == ["fact-20", "fact-21", "fact-22"]
    await admin.send()
    assert re.findall(r"fact-\d\d", admin.text) == ["fact-20", "fact-21"]
    await admin.get(f"{REVIEW}?after=nonsense")
    assert "fact-00" in admin.words


async def test_texts_are_escaped_and_users_are_named_by_their_key(storage, admin, make_proposal):
    make_proposal("ann@example.com", text="<script>alert(1)</script>", tags=["<b>"])
    await admin.get(REVIEW)
    assert "<script>" not in admin.text
    assert "<script>alert(1)</script>" in admin.words
    assert "ann@example.com" not in admin.text
    assert str(storage.background.key_of("ann@example.com")) in admin.text


async def test_that_review_is_off_is_told(admin, store):
    await store.change({"memory_extraction_review": False}, by="x")
    await admin.get(REVIEW)
    assert "Review is off" in admin.words


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "path", ["jobs/x/cancel", "jobs/x/retry", "review/x/y/accept", "review/x/y/refuse", "review/x/y/edit"]
)
async def test_what_names_nothing_is_no_page(admin, path):
    await admin.get(JOBS)
    token = {"form_token": re.search(r'name="form_token" value="([^"]*)"', admin.text)[1]}
    page = await admin.post(f"/memory/admin/{path}", token)
    assert page.status_code == 404


async def test_a_form_of_another_site_changes_nothing(storage, admin, make_job, make_proposal):
    key, path = await make_job(state="running"), make_proposal(text="Likes tea")
    for address in (f"{JOBS}/{key}/cancel", f"{JOBS}/{key}/retry", f"{path}/accept", f"{path}/refuse", f"{path}/edit"):
        for fields, headers in (({"text": "x"}, {}), (admin.fields(), {"origin": "http://elsewhere.test"})):
            assert (await admin.post(address, fields, headers=headers)).status_code == 403
    assert not (await storage.background.jobs.get(key)).is_cancelled
    assert len(await storage.background.proposals.waiting()) == 1


async def test_only_administrators_see_them(world):
    browser = Web(world.app)
    async with browser.http:
        for path in (JOBS, REVIEW, f"{REVIEW}/{uuid4()}/{uuid4()}/edit"):
            page = await browser.get(path)
            assert page.url.path.endswith("/login")
            assert "Jobs" not in browser.words
