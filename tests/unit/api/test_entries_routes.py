"""The customer's contract: what is stored comes back, redacted, to its owner."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest

from discreet import outcomes
from discreet.api.app import make_app
from discreet.errors import ShortTermError, StorageUnavailableError
from discreet.storage.background.ages import Waiting
from discreet.testing import InMemoryShortTermStore

MAIL = "ann" + "@" + "example.com"
ENTRY = {
    "entry_id": "7f0f5a3a-6d2b-4c3a-9a55-3a4a4f1f1f10",
    "request_id": "req-1234",
    "session_id": "sess-5678",
    "user_id": "ann",
    "agent_id": "misa",
    "timestamp": "2026-01-02T12:34:56Z",
    "short_answer": "Tóm tắt ngắn (1-2 câu)",
    "reasoning": "Chi tiết các bước tư duy hoặc bullet list",
    "confidence": 0.82,
    "tags": ["philosophy", "questioning"],
    "conflict_flags": [],
    "loop_flag": False,
    "provenance": {"model": "gpt-x", "model_version": "v1", "prompt": "..."},
    "user_feedback": None,
}
REFUSED = [
    ("short_answer", ""),
    ("short_answer", "  "),
    ("short_answer", "x" * 4_001),
    ("reasoning", "x" * 100_001),
    ("confidence", 1.1),
    ("confidence", "0.5"),
    ("confidence", True),
    ("loop_flag", "yes"),
    ("timestamp", "2026-01-02T12:34:56"),
    ("timestamp", 1_700_000_000),
    ("timestamp", "9999-12-31T23:59:59-23:59"),
    ("entry_id", "id-001"),
    ("tags", ["x"] * 51),
    ("tags", [""]),
    ("session_id", " "),
    ("session_id", "x" * 201),
    ("type", "turn"),
    ("user_feedback", [{"rating": 1}] * 101),
    ("user_feedback", {"rating": 1e300}),
    ("provenance", {"temperature": 1}),
    ("short_anwser", "x"),
]


@pytest.fixture
def serve(services):
    def client(**changes):
        transport = httpx.ASGITransport(make_app(replace(services, **changes)))
        return httpx.AsyncClient(transport=transport, base_url="http://testserver")

    return client


@pytest.fixture
async def client(serve):
    async with serve() as opened:
        yield opened


@pytest.fixture
def ann(authenticator):
    return authenticator.headers_of("ann")


@pytest.fixture
def bob(authenticator):
    return authenticator.headers_of("bob")


async def stored(client, headers, **values):
    answer = await client.post("/memory/store", json={"short_answer": "Plans a trip"} | values, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def listed(client, headers, **query):
    answer = await client.get("/memory/query", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["entries"]


async def test_an_entry_comes_back_field_by_field(client, ann):
    answer = await client.post("/memory/store", json=ENTRY, headers=ann)
    assert answer.status_code == 201
    assert {name: answer.json()[name] for name in ENTRY} == ENTRY
    assert answer.headers["location"] == f"/memory/entry/{ENTRY['entry_id']}"
    assert (await client.get(answer.headers["location"], headers=ann)).json() == answer.json()
    assert await listed(client, ann, session_id="sess-5678") == [answer.json()]
    assert answer.json()["type"] == "reasoning"


async def test_what_an_entry_leaves_out_is_filled_in(client, ann):
    entry = await stored(client, ann)
    assert (entry["type"], entry["user_id"], entry["provenance"]) == ("conversation_insight", "ann", {})
    assert entry["timestamp"].endswith("Z")
    assert (await stored(client, ann, type="preference"))["type"] == "preference"


async def test_the_database_knows_nobody_by_name(client, ann, services, authenticator):
    await stored(client, ann)
    assert await services.memories.latest("ann") == []
    assert len(await services.memories.latest(authenticator.identity("ann"))) == 1


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "field", ["short_answer", "reasoning", "tags", "conflict_flags", "provenance", "user_feedback"]
)
async def test_a_sensitive_value_is_redacted_wherever_it_stands(client, ann, field):
    values = {
        "short_answer": MAIL,
        "reasoning": MAIL,
        "tags": [MAIL],
        "conflict_flags": [MAIL],
        "provenance": {"prompt": MAIL},
        "user_feedback": {"comment": MAIL},
    }
    answer = await client.post("/memory/store", json={"short_answer": "x", field: values[field]}, headers=ann)
    assert answer.status_code == 201
    assert MAIL not in answer.text
    assert "<EMAIL>" in str(answer.json()[field])


@pytest.mark.parametrize("field", ["request_id", "session_id", "agent_id", "app_name"])
async def test_an_id_that_is_a_sensitive_value_is_refused(client, ann, field):
    answer = await client.post("/memory/store", json={"short_answer": "x", field: MAIL}, headers=ann)
    assert answer.status_code == 422
    assert [problem["field"] for problem in answer.json()["error"]["fields"]] == [field]
    assert MAIL not in answer.text
    assert await listed(client, ann) == []


async def test_entries_are_kept_as_they_are_unless_they_name_their_type_alone(client, ann):
    assert (await stored(client, ann))["entry_id"] != (await stored(client, ann))["entry_id"]
    first = await stored(client, ann, short_answer="Keeps two parrots", type="user_fact")
    assert (await stored(client, ann, short_answer="Keeps two parrots", type="user_fact"))["entry_id"] == first[
        "entry_id"
    ]


async def test_an_entry_is_not_replaced(client, ann):
    await client.post("/memory/store", json=ENTRY, headers=ann)
    answer = await client.post("/memory/store", json=ENTRY | {"short_answer": "other"}, headers=ann)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "entry_exists")
    assert (await listed(client, ann))[0]["short_answer"] == ENTRY["short_answer"]


async def test_what_cannot_be_taken_is_named_and_nothing_is_stored(client, ann):
    for field, value in REFUSED:
        answer = await client.post("/memory/store", json={"short_answer": "x", field: value}, headers=ann)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "request_invalid"), (field, value)
        assert answer.json()["error"]["fields"], (field, value)
    assert await listed(client, ann) == []


async def test_nobody_sees_or_changes_what_is_somebody_elses(client, ann, bob):
    entry = await stored(client, ann)
    path = f"/memory/entry/{entry['entry_id']}"
    assert (await client.get(path, headers=bob)).status_code == 404
    assert (await client.delete(path, headers=bob)).status_code == 404
    feedback = {"entry_id": entry["entry_id"], "rating": 1}
    assert (await client.post("/memory/feedback", json=feedback, headers=bob)).status_code == 404
    assert (await client.post("/memory/search", json={"q": "trip"}, headers=bob)).json() == {"results": []}
    assert await listed(client, bob) == []
    assert (await client.get(path, headers=ann)).json() == entry


async def test_naming_somebody_else_is_forbidden_everywhere(client, ann, authenticator):
    someone, entry_id = {"user_id": "bob"}, str(uuid4())
    answers = [
        await client.post("/memory/store", json={"short_answer": "x"} | someone, headers=ann),
        await client.get("/memory/query", params=someone, headers=ann),
        await client.get(f"/memory/entry/{entry_id}", params=someone, headers=ann),
        await client.delete(f"/memory/entry/{entry_id}", params=someone, headers=ann),
        await client.post("/memory/feedback", json={"entry_id": entry_id, "rating": 1} | someone, headers=ann),
        await client.post("/memory/search", json={"q": "x"} | someone, headers=ann),
        await client.post("/memory/session/s/end", params=someone, headers=ann),
    ]
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in answers] == [(403, "forbidden")] * 7
    himself = authenticator.identity("ann")
    assert (await stored(client, ann, user_id=himself))["user_id"] == himself
    assert len(await listed(client, ann)) == 1


async def test_who_may_name_users_stores_under_their_identity(client, authenticator):
    carer = authenticator.headers_of("carer", names_users=True)
    entry = await stored(client, carer, user_id="ann")
    assert entry["user_id"] == "ann"
    assert await listed(client, carer) == []
    assert await listed(client, carer, user_id="ann") == [entry]
    assert await listed(client, authenticator.headers_of("ann")) == [entry]


async def test_a_number_names_who_is_called_by_its_digits(client, authenticator):
    seven = authenticator.headers_of("7")
    entry = await stored(client, seven, user_id=7)
    assert await listed(client, seven, user_id="7") == [entry]
    for nobody in (True, 7.5, ["7"], {"id": 7}):
        refused = {"short_answer": "x", "user_id": nobody}
        answer = await client.post("/memory/store", json=refused, headers=seven)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "request_invalid")


async def test_a_filter_whose_name_is_unknown_is_refused(client, ann):
    answer = await client.get("/memory/query", params={"sesion_id": "s1"}, headers=ann)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "request_invalid")


async def test_entries_are_listed_newest_first_page_by_page(client, ann):
    for minute in (1, 3, 0, 2, 4):
        await stored(client, ann, timestamp=f"2026-01-02T12:0{minute}:00Z", short_answer=f"at {minute}")
    pages, link = [], "?limit=2"
    while link:
        answer = await client.get(f"/memory/query{link}", headers=ann)
        pages.append([entry["short_answer"] for entry in answer.json()["entries"]])
        link = answer.headers.get("link", "").partition(">")[0].removeprefix("<")
        assert bool(link) == (answer.json()["next"] is not None)
    assert pages == [["at 4", "at 3"], ["at 2", "at 1"], ["at 0"]]


async def test_every_filter_narrows(client, ann):
    one = await stored(client, ann, session_id="s1", agent_id="misa", request_id="r1", tags=["a"], type="event",
                       timestamp="2026-01-01T00:00:00Z", short_answer="one thing")  # fmt: skip
    two = await stored(client, ann, session_id="s2", timestamp="2026-02-01T00:00:00Z", reasoning="because")
    other = await stored(client, ann, app_name="shop", short_answer="bought shoes")
    assert await listed(client, ann) == [two, one]
    for query in ({"session_id": "s1"}, {"agent_id": "misa"}, {"request_id": "r1"}, {"tags": "a"}, {"type": "event"},
                  {"before": "2026-02-01T00:00:00Z"}, {"before": "2026-02-01T07:00:00+07:00"}):  # fmt: skip
        assert await listed(client, ann, **query) == [one]
    assert await listed(client, ann, after="2026-02-01T00:00:00Z", type=["event", "reasoning"]) == [two]
    assert await listed(client, ann, app_name="shop") == [other]
    answer = await client.get("/memory/query?after=2026-02-01T07:00:00+07:00", headers=ann)  # an unquoted plus
    assert answer.json()["entries"] == [two]


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 201},
        {"limit": "many"},
        {"cursor": "x"},
        {"cursor": "é"},
        {"cursor": "AAAA"},
        {"after": "today"},
    ],
)
async def test_a_query_that_cannot_be_answered_is_refused(client, ann, query):
    answer = await client.get("/memory/query", params=query, headers=ann)
    assert answer.status_code == 422
    assert [problem["field"] for problem in answer.json()["error"]["fields"]] == list(query)


async def test_feedback_is_added_in_its_order(client, ann):
    entry = await stored(client, ann, user_feedback={"rating": 3, "timestamp": "2026-01-02T00:00:00Z"})
    given = {"entry_id": entry["entry_id"], "user_id": "ann", "rating": 5, "comment": f"Good, ask {MAIL}"}
    answer = await client.post("/memory/feedback", json=given, headers=ann)
    assert answer.status_code == 200
    first, second = answer.json()["user_feedback"]
    assert first == {"rating": 3, "comment": None, "timestamp": "2026-01-02T00:00:00Z"}
    assert (second["rating"], second["comment"]) == (5, "Good, ask <EMAIL>")
    nothing = await client.post("/memory/feedback", json={"entry_id": entry["entry_id"], "comment": " "}, headers=ann)
    assert nothing.status_code == 422


@pytest.mark.slow
async def test_an_entry_that_is_full_of_feedback_takes_no_more(client, ann):
    entry = await stored(client, ann, user_feedback=[{"rating": 1}] * 100)
    answer = await client.post("/memory/feedback", json={"entry_id": entry["entry_id"], "rating": 5}, headers=ann)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "feedback_limit")


async def test_a_deleted_entry_is_gone(client, ann):
    path = f"/memory/entry/{(await stored(client, ann))['entry_id']}"
    answer = await client.delete(path, headers=ann)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get(path, headers=ann)).status_code == 404
    assert (await client.delete(path, headers=ann)).status_code == 404


async def test_a_search_tells_how_near_each_entry_is(client, ann):
    entry = await stored(client, ann, short_answer="Keeps two African Grey parrots", session_id="s1")
    await stored(client, ann, short_answer="Likes tea")
    answer = await client.post("/memory/search", json={"q": "parrots", "limit": 1}, headers=ann)
    [hit] = answer.json()["results"]
    assert hit["entry"] == entry
    assert hit["score"] > 0
    assert 0 <= hit["similarity"] <= 1
    elsewhere = {"q": "parrots", "filters": {"session_id": "s2"}}
    assert (await client.post("/memory/search", json=elsewhere, headers=ann)).json() == {"results": []}
    assert (await client.post("/memory/search", json={"q": " "}, headers=ann)).json() == {"results": []}


async def test_a_session_is_ended_any_number_of_times(client, ann, services, authenticator):
    await services.short_term.touch(authenticator.identity("ann"), "s 1")
    for _ in range(2):
        assert (await client.post("/memory/session/s%201/end", headers=ann)).status_code == 204
    assert await services.short_term.session_state(authenticator.identity("ann"), "s 1") is None


@pytest.mark.slow
async def test_health_needs_no_credentials_and_tells_no_more_than_what_is_down(client, serve, services):
    answer = await client.get("/memory/health")
    parts = dict.fromkeys(("database", "pool", "short_term", "vault", "embedding"), "ok")
    well = {"status": "ok", **parts, "worker": "unknown", "queue_seconds": None}
    assert (answer.status_code, answer.json()) == (200, well)

    async def down(*_args, **_options):
        raise StorageUnavailableError

    async def short_down(*_args, **_options):
        raise ShortTermError

    async with serve(short_term=SimpleNamespace(session_state=short_down)) as other:
        answer = await other.get("/memory/health")
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    async with serve(memories=SimpleNamespace(get=down)) as other:
        answer = await other.get("/memory/health")
        assert (answer.status_code, answer.json()["database"]) == (503, "down")
    async with serve(memories=SimpleNamespace(get=down), restarting=lambda: True) as other:
        answer = await other.get("/memory/health")
        assert (answer.status_code, answer.json()["database"]) == (503, "restarting")


async def test_a_process_lives_and_is_ready_apart_from_each_other(serve):
    async def down(*_args, **_options):
        raise StorageUnavailableError

    async with serve(memories=SimpleNamespace(get=down)) as other:
        assert (await other.get("/memory/health/live")).json() == {"status": "ok"}
        answer = await other.get("/memory/health/ready")
        assert (answer.status_code, answer.json()["database"]) == (503, "down")


async def test_the_vault_the_embedding_and_the_worker_are_told_of(serve):
    async def no_values(_turn):
        raise StorageUnavailableError

    async def waiting():
        return Waiting(leases=0, workers=0, due_job=4_000.0, erasure=0.0, pending_session=0.0)

    outcomes.embedding.failed()
    async with serve(vault=SimpleNamespace(avalues=no_values), waiting=waiting) as other:
        answer = await other.get("/memory/health/ready")
        assert answer.status_code == 200
        found = answer.json()
        assert found["status"] == "degraded"
        assert (found["vault"], found["embedding"]) == ("down", "down")
        assert (found["worker"], found["queue_seconds"]) == ("missing", 4_000.0)


async def test_many_who_ask_for_health_at_once_cost_one_question(serve, services):
    asked = []

    async def state(*_args):
        asked.append(1)
        await asyncio.sleep(0.05)

    async with serve(short_term=SimpleNamespace(session_state=state)) as other:
        answers = await asyncio.gather(*(other.get("/memory/health") for _ in range(50)))
        assert {each.status_code for each in answers} == {200}
        assert len(asked) == 1


async def test_metrics_are_for_administrators(client, ann, authenticator):
    assert (await client.get("/memory/metrics", headers=ann)).status_code == 403
    answer = await client.get("/memory/metrics", headers=authenticator.headers_of("root", admin=True))
    assert answer.headers["content-type"].startswith("text/plain")
    assert "discreet_redactions_total" in answer.text


class TestIdempotency:
    async def test_a_call_that_comes_again_is_not_done_again(self, client, ann):
        headers = ann | {"Idempotency-Key": "k 1"}
        first = await client.post("/memory/store", json={"short_answer": "x"}, headers=headers)
        again = await client.post("/memory/store", json={"short_answer": "x"}, headers=headers)
        assert (again.status_code, again.json()) == (201, first.json())
        assert ("idempotency-replayed" in first.headers, again.headers["idempotency-replayed"]) == (False, "true")
        assert len(await listed(client, ann)) == 1

    async def test_feedback_that_comes_again_is_not_added_again(self, client, ann):
        given = {"entry_id": (await stored(client, ann))["entry_id"], "rating": 5}
        headers = ann | {"Idempotency-Key": "k1"}
        for _ in range(2):
            answer = await client.post("/memory/feedback", json=given, headers=headers)
            assert len(answer.json()["user_feedback"]) == 1
        assert answer.headers["idempotency-replayed"] == "true"

    async def test_a_key_is_for_one_body_one_route_and_one_caller(self, client, ann, bob):
        key = {"Idempotency-Key": "k1"}
        entry = (await client.post("/memory/store", json={"short_answer": "x"}, headers=ann | key)).json()
        other = await client.post("/memory/store", json={"short_answer": "y"}, headers=ann | key)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
        his = await client.post("/memory/store", json={"short_answer": "y"}, headers=bob | key)
        assert (his.status_code, his.json()["entry_id"] == entry["entry_id"]) == (201, False)
        given = {"entry_id": entry["entry_id"], "rating": 5}
        assert (await client.post("/memory/feedback", json=given, headers=ann | key)).status_code == 200

    async def test_of_calls_at_once_one_is_done_and_the_others_are_told_to_wait(self, serve, services, ann):
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def save(*args, **options):
            begun.set()
            await go_on.wait()
            return await services.memories.save(*args, **options)

        headers = ann | {"Idempotency-Key": "k1"}
        async with serve(memories=SimpleNamespace(save=save)) as client:
            first = asyncio.create_task(client.post("/memory/store", json={"short_answer": "x"}, headers=headers))
            await begun.wait()
            second = await client.post("/memory/store", json={"short_answer": "x"}, headers=headers)
            assert (second.status_code, second.json()["error"]["code"]) == (409, "idempotency_running")
            assert second.headers["retry-after"] == "1"
            go_on.set()
            assert (await first).status_code == 201

    @pytest.mark.slow
    async def test_a_call_that_failed_may_come_again(self, serve, services, ann):
        async def down(*_args, **_options):
            raise StorageUnavailableError

        headers = ann | {"Idempotency-Key": "k1"}
        async with serve(memories=SimpleNamespace(save=down)) as client:
            answer = await client.post("/memory/store", json={"short_answer": "x"}, headers=headers)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        async with serve() as client:
            answer = await client.post("/memory/store", json={"short_answer": "x"}, headers=headers)
            assert (answer.status_code, "idempotency-replayed" in answer.headers) == (201, False)

    async def test_an_entry_is_stored_once_though_the_short_term_store_lost_everything(self, serve, client, ann):
        headers = ann | {"Idempotency-Key": "k1"}
        first = await client.post("/memory/store", json={"short_answer": "x"}, headers=headers)
        async with serve(short_term=InMemoryShortTermStore()) as other:
            again = await other.post("/memory/store", json={"short_answer": "x"}, headers=headers)
        assert (again.status_code, again.json()) == (201, first.json())
        assert again.headers["idempotency-replayed"] == "true"

    async def test_no_text_is_kept_with_a_key(self, client, services, ann, token):
        headers = ann | {"Idempotency-Key": f"key-{token}"}
        await client.post("/memory/store", json={"short_answer": token}, headers=headers)
        assert token not in repr(services.short_term._works)

    @pytest.mark.parametrize("key", ["", "x" * 201, "\t"])
    async def test_a_key_that_is_none_is_refused(self, client, ann, key):
        answer = await client.post("/memory/store", json={"short_answer": "x"}, headers=ann | {"Idempotency-Key": key})
        assert answer.status_code == 422
        assert await listed(client, ann) == []
