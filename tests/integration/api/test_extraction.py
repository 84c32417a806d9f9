"""Background memory over HTTP: what is started becomes a job, its facts wait, and they are accepted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import httpx
import psycopg
import pytest
from testkit.conversations import ScriptedProvider, echo, talk
from testkit.proposals import plant_proposal

from discreet.api.app import make_app
from discreet.api.due import due_counts
from discreet.errors import ProviderError
from discreet.ports import BatchResult, FixedSettings
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings
from discreet.worker import BatchProviders, Worker

JOBS = "/memory/extraction/jobs"
START = "/memory/extraction/start"
STATUS = "/memory/extraction/status"
PROPOSALS = "/memory/proposals"
SAID = ("I keep two African Grey parrots.", "My daughter Lan starts school in September.", "I work nights at a bakery.")


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as opened:
        yield opened


@pytest.fixture
def live():
    return MemorySettings(memory_extraction_provider="openai", memory_extraction_review=True)


@pytest.fixture
def services(storage, make_services, live):
    return replace(make_services(storage), memory_settings=SimpleNamespace(live=live))


@pytest.fixture
async def http(services):
    transport = httpx.ASGITransport(make_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        yield client


@pytest.fixture
def provider():
    return ScriptedProvider()


@pytest.fixture
def work(storage, provider, live, database):
    """Return a function that lets a worker do all that can be done, as if time had gone by."""
    worker = Worker(
        storage.background,
        memory_settings=FixedSettings(live),
        providers=BatchProviders(Settings(_env_file=None), make=lambda _name, _model: provider),
        redactor=Redactor(),
    )

    async def done(*, passes=2):
        for _ in range(passes):
            await worker.once()
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute("UPDATE discreet.batch_jobs SET due_at = now() - interval '1 second'")
                connection.execute("UPDATE discreet.batch_requests SET due_at = now() - interval '1 second'")

    return done


@pytest.fixture
def ann(authenticator):
    return SimpleNamespace(headers=authenticator.headers_of("ann"), id=authenticator.identity("ann"))


@pytest.fixture
def bob(authenticator):
    return SimpleNamespace(headers=authenticator.headers_of("bob"), id=authenticator.identity("bob"))


@pytest.fixture
def boss(authenticator):
    return SimpleNamespace(headers=authenticator.headers_of("boss", admin=True), id=authenticator.identity("boss"))


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_is_started_becomes_a_job_and_its_facts_wait_until_they_are_accepted(storage, http, work, ann, boss):
    await talk(storage, *SAID, user=ann.id)
    started = await http.post(START, headers=ann.headers, json={})
    assert (started.status_code, started.json()) == (202, {"requests": 2})
    assert (await http.post(START, headers=ann.headers, json={})).json() == {"requests": 0}
    await work()

    answer = (await http.get(JOBS, headers=boss.headers)).json()
    [job] = answer["jobs"]
    assert (answer["next"], answer["prices_as_of"]) == (None, "2026-11-01")
    assert (job["state"], job["provider"], job["model"], job["requests"]) == ("completed", "openai", "gpt-4o-mini", 2)
    assert job["figures"] == {"applied": 2, "proposed": 4, "summaries": 1, "input_tokens": 200, "output_tokens": 40}
    assert job["cost_usd"] == pytest.approx((200 * 0.15 + 40 * 0.60) / 2_000_000)
    assert (await http.get(f"{JOBS}/{job['job_key']}", headers=boss.headers)).json() == job
    assert "lease_token" not in job

    page = (await http.get(PROPOSALS, headers=ann.headers, params={"limit": 2})).json()
    rest = (await http.get(PROPOSALS, headers=ann.headers, params={"limit": 2, "cursor": page["next"]})).json()
    waiting = [*page["proposals"], *rest["proposals"]]
    first, second, third = [each for each in waiting if each["type"] != "conversation_summary"]
    assert (len(waiting), rest["next"]) == (4, None)
    assert sorted(each["text"] for each in (first, second, third)) == sorted(SAID)
    assert {each["user_id"] for each in (first, second, third)} == {"ann"}
    assert first["session_id"] == "thread"

    kept = await http.post(f"{PROPOSALS}/{first['proposal_key']}/accept", headers=ann.headers, json={})
    assert (kept.status_code, kept.json()["short_answer"], kept.json()["type"]) == (200, first["text"], first["type"])
    assert kept.json()["provenance"]["source"] == "extraction"
    changes = {"text": "Call Ann at ann@example.com", "type": "preference", "importance": 9, "tags": ["calls"]}
    changed = await http.post(f"{PROPOSALS}/{second['proposal_key']}/accept", headers=ann.headers, json=changes)
    assert "ann@example.com" not in changed.text
    assert changed.json()["type"] == "preference"
    assert changed.json()["tags"] == ["calls"]
    assert changed.json()["provenance"]["source"] == "api"
    [record] = [r for r in await storage.memories.latest(ann.id) if r.type == "preference"]
    assert record.importance == 9
    assert (await http.delete(f"{PROPOSALS}/{third['proposal_key']}", headers=ann.headers)).status_code == 204
    [summary] = (await http.get(PROPOSALS, headers=ann.headers)).json()["proposals"]
    assert summary["type"] == "conversation_summary"
    for again in (first, third):
        path = f"{PROPOSALS}/{again['proposal_key']}"
        assert (await http.post(f"{path}/accept", headers=ann.headers, json={})).status_code == 404
        assert (await http.delete(path, headers=ann.headers)).status_code == 404


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_session_that_is_ended_over_http_is_due(storage, http, services, ann, boss):
    await talk(storage, *SAID, user=ann.id, at=datetime.now(UTC))
    assert (await http.get(STATUS, headers=boss.headers)).json()["due"] == {}
    for session in ("thread", "unknown"):
        assert (await http.post(f"/memory/session/{session}/end", headers=ann.headers)).status_code == 204
    status = (await http.get(STATUS, headers=boss.headers)).json()
    assert (status["due"], status["sessions"], status["more"]) == ({"session_end": 1}, 1, False)


@pytest.mark.slow
@pytest.mark.dialect
async def test_status_tells_what_waits_and_who_works(storage, http, work, ann, boss):
    await talk(storage, *SAID, user=ann.id)
    await storage.background.watch.seen(uuid4())
    await http.post(START, headers=ann.headers, json={})
    status = (await http.get(STATUS, headers=boss.headers)).json()
    assert (status["workers"], status["requests"], status["jobs"]) == (1, {"pending": 2}, {})
    assert status["oldest_request"].endswith("Z")
    await work()
    status = (await http.get(STATUS, headers=boss.headers)).json()
    assert (status["oldest_request"], status["jobs"], status["proposals"]) == (None, {"completed": 1}, 4)


async def test_sessions_are_counted_page_by_page_and_not_without_end(storage, live, monkeypatch):
    monkeypatch.setattr("discreet.api.due.PAGE", 2)
    for number in range(5):
        await talk(storage, SAID[0], user=f"u{number}", thread=f"t{number}")
    await talk(storage, SAID[0], user="now", thread="now", at=datetime.now(UTC))
    counts = await due_counts(storage.background, live)
    assert (counts.sessions, counts.by_trigger, counts.more) == (6, {"inactivity": 5}, False)
    monkeypatch.setattr("discreet.api.due.MOST", 4)
    counts = await due_counts(storage.background, live)
    assert (counts.sessions, counts.by_trigger, counts.more) == (4, {"inactivity": 4}, True)


@pytest.mark.slow
async def test_only_turns_from_a_time_on_are_taken_and_those_that_were_before_if_asked(storage, http, ann, boss):
    await talk(storage, *SAID, user=ann.id)
    await talk(storage, "I moved to Da Nang.", user=ann.id, thread="old", at=datetime.now(UTC) - timedelta(days=9))
    after = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    assert (await http.post(START, headers=ann.headers, json={"after": after})).json() == {"requests": 2}
    assert (await http.post(START, headers=ann.headers, json={})).json() == {"requests": 1}
    assert (
        await http.post(START, headers=ann.headers, json={"again": True})
    ).status_code == 403  # it would be paid anew
    whose = {"user_id": "ann", "again": True}
    assert (await http.post(START, headers=boss.headers, json=whose)).json() == {"requests": 3}


@pytest.mark.slow
async def test_jobs_come_in_pages_newest_first(storage, http, boss):
    made = [(await storage.background.jobs.open("offline", "rules", lease_seconds=1)).job_key for _ in range(5)]
    seen, cursor = [], None
    for _ in range(3):
        answer = await http.get(
            JOBS, headers=boss.headers, params={"limit": 2} | ({"cursor": cursor} if cursor else {})
        )
        seen += [job["job_key"] for job in answer.json()["jobs"]]
        cursor = answer.json()["next"]
        assert ("link" in answer.headers) == (cursor is not None)
    assert seen == [str(key) for key in reversed(made)]
    assert cursor is None
    running = (await http.get(JOBS, headers=boss.headers)).json()["jobs"][0]
    assert (running["state"], running["figures"], running["cost_usd"]) == ("submitting", {}, None)


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_job_is_ended_and_what_was_dropped_is_tried_again(storage, http, work, provider, ann, boss):
    provider.is_done, provider.answer = False, lambda _: None
    await talk(storage, SAID[0], user=ann.id)
    await work(passes=1)
    [job] = (await http.get(JOBS, headers=boss.headers)).json()["jobs"]
    ended = await http.post(f"{JOBS}/{job['job_key']}/cancel", headers=boss.headers)
    assert (ended.status_code, ended.json()["is_cancelled"]) == (202, True)
    await work(passes=1)
    assert (await http.post(f"{JOBS}/{job['job_key']}/cancel", headers=boss.headers)).status_code == 404
    assert (await http.get(f"{JOBS}/{job['job_key']}", headers=boss.headers)).json()["state"] == "cancelled"
    again = await http.post(f"{JOBS}/{job['job_key']}/retry", headers=boss.headers)
    assert (again.status_code, again.json()) == (202, {"requests": 1})
    assert (await http.post(f"{JOBS}/{job['job_key']}/retry", headers=boss.headers)).json() == {"requests": 0}
    provider.is_done, provider.answer = True, echo
    await work()
    assert len((await http.get(PROPOSALS, headers=ann.headers)).json()["proposals"]) == 1


@pytest.mark.slow
async def test_an_error_of_a_job_is_told_by_its_code(storage, http, work, provider, ann, boss):
    provider.failing = [("submit", ProviderError("no", is_passing=False))]
    await talk(storage, SAID[0], user=ann.id)
    await work(passes=1)
    [job] = (await http.get(JOBS, headers=boss.headers)).json()["jobs"]
    assert (job["state"], job["error"], job["batch_id"]) == ("failed", "provider", None)


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/cancel"), ("POST", "/retry")])
async def test_a_job_that_is_not_there_is_404(http, boss, method, path):
    answer = await http.request(method, f"{JOBS}/{uuid4()}{path}", headers=boss.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.slow
async def test_an_administrator_starts_and_decides_for_anybody_and_nobody_else_does(
    storage, http, work, database, ann, bob, boss
):
    await talk(storage, *SAID, user=ann.id)
    for body in ({"user_id": "ann"}, {"user_id": ann.id}):
        assert (await http.post(START, headers=bob.headers, json=body)).status_code == 403
    assert (await http.post(START, headers=boss.headers, json={"user_id": "ann"})).json() == {"requests": 2}
    key = plant_proposal(database, storage.background.key_of(ann.id), text="Likes tea")
    path, hers = f"{PROPOSALS}/{key}", {"user_id": "ann"}
    for query, status in (({}, 404), (hers, 403)):
        answers = [
            await http.post(f"{path}/accept", headers=bob.headers, params=query, json={}),
            await http.delete(path, headers=bob.headers, params=query),
        ]
        assert [answer.status_code for answer in answers] == [status, status]
    assert (await http.get(PROPOSALS, headers=bob.headers)).json()["proposals"] == []
    assert (await http.get(PROPOSALS, headers=bob.headers, params=hers)).status_code == 403
    [proposal] = (await http.get(PROPOSALS, headers=boss.headers, params=hers)).json()["proposals"]
    assert (proposal["text"], proposal["user_id"]) == ("Likes tea", "ann")
    kept = await http.post(f"{path}/accept", headers=boss.headers, params=hers, json={})
    assert (kept.status_code, kept.json()["user_id"]) == (200, "ann")
    assert [record.text for record in await storage.memories.latest(ann.id)] == ["Likes tea"]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"importance": 11}, "importance"),
        ({"importance": "5"}, "importance"),
        ({"text": "   "}, "text"),
        ({"text": "x" * 4_001}, "text"),
        ({"type": "turn"}, "type"),
        ({"tags": ["x"] * 51}, "tags"),
        ({"secret": 1}, "body"),
    ],
)
async def test_changes_that_cannot_be_are_refused_and_the_memory_waits(storage, http, database, ann, body, field):
    key = plant_proposal(database, storage.background.key_of(ann.id))
    answer = await http.post(f"{PROPOSALS}/{key}/accept", headers=ann.headers, json=body)
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["error"]["fields"]] == [field]
    assert len((await http.get(PROPOSALS, headers=ann.headers)).json()["proposals"]) == 1


@pytest.mark.slow
async def test_a_cursor_of_somewhere_else_is_refused(http, ann, boss):
    for path, headers in ((JOBS, boss.headers), (PROPOSALS, ann.headers)):
        assert (await http.get(path, headers=headers, params={"cursor": "none of ours"})).status_code == 422


@pytest.mark.slow
async def test_without_background_memory_there_are_no_routes_about_it(services, ann):
    transport = httpx.ASGITransport(make_app(replace(services, background=None)))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        assert (await client.post(START, headers=ann.headers, json={})).status_code == 404


@pytest.mark.slow
@pytest.mark.dialect
async def test_failed_prompts_are_told_in_the_figures(storage, http, work, provider, ann, boss):
    provider.answer = lambda request: BatchResult(
        custom_id=request.custom_id, state="failed", error="broken", is_final=True
    )
    await talk(storage, SAID[0], user=ann.id)
    await work()
    [job] = (await http.get(JOBS, headers=boss.headers)).json()["jobs"]
    assert job["figures"]["failed"] == 1
    assert (await http.post(f"{JOBS}/{job['job_key']}/retry", headers=boss.headers)).json() == {"requests": 1}
