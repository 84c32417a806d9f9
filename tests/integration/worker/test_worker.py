"""A worker from the session that is due to the facts in memory."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from testkit.conversations import ScriptedProvider, echo, item, overloaded, talk
from testkit.sessions import until

from discreet.errors import ConfigurationError, InvalidRecordError, ProviderError, SecretRefusedError
from discreet.ports import BatchLimits, BatchResult, RollingSummary
from discreet.state.records import MemoryFilters

SAID = ("I keep two African Grey parrots.", "My daughter Lan starts school in September.", "I work nights at a bakery.")
FACTS = MemoryFilters(types=["user_fact", "preference", "event", "conversation_insight", "important_moment"])


async def facts_of(storage, user="ann"):
    return sorted(record.text for record in await storage.memories.latest(user, filters=FACTS))


@pytest.mark.slow
async def test_a_session_that_ended_becomes_facts_and_a_summary(storage, worker, provider, later):
    await talk(storage, *SAID)
    await storage.log.end_session("ann", "thread")
    await worker.once()
    later()
    await worker.once()
    assert await facts_of(storage) == sorted(SAID)
    [summary] = await storage.memories.latest("ann", filters=MemoryFilters(types=["conversation_summary"]))
    assert (summary.text, summary.thread_id, summary.tags) == (f"They spoke of {SAID[0]}", "thread", ["session"])
    [parrots] = [r for r in await storage.memories.latest("ann", filters=FACTS) if "parrots" in r.text]
    assert (parrots.provenance.source, parrots.provenance.turns, parrots.request_id) == (
        "extraction",
        ["thread-r0"],
        "thread-r0",
    )
    assert (parrots.provenance.model, parrots.provenance.model_version) == ("gpt-4o-mini", "model-1")
    assert provider.deleted == {"batch-0"}
    assert len(provider.batches) == 1


@pytest.mark.slow
async def test_each_trigger_fires_once(storage, worker, provider, later, rows):
    await talk(storage, *SAID)
    for _ in range(5):
        await worker.once()
        later()
    assert rows("SELECT trigger, kind, state FROM discreet.batch_requests ORDER BY kind") == [
        ("inactivity", "extraction", "applied"),
        ("inactivity", "summary", "applied"),
    ]
    assert len(provider.batches) == 1
    [job] = await storage.background.jobs.latest()
    assert (job.state, job.requests, job.figures) == (
        "completed",
        2,
        {"applied": 2, "added": 3, "summaries": 1, "input_tokens": 200, "output_tokens": 40},
    )


@pytest.mark.slow
async def test_what_is_said_afterwards_is_taken_the_next_time_and_nothing_twice(storage, worker, provider, later):
    await talk(storage, *SAID)
    await worker.once()
    await talk(storage, "I moved to Da Nang.", prefix="s")
    await worker.once()
    later()
    await worker.once()
    assert await facts_of(storage) == sorted([*SAID, "I moved to Da Nang."])
    extracted = [r for _, requests in provider.batches.values() for r in requests if r.schema_name == "extraction"]
    assert [len(request.data.splitlines()) - 2 for request in extracted if "<known" not in request.data] == [3, 1]


async def test_a_running_session_waits(storage, worker, provider):
    await talk(storage, *SAID, at=datetime.now(UTC))
    assert await worker.fire() == 0
    assert [trigger async for _, trigger in worker.due()] == []


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("texts", "live", "changed", "trigger"),
    [
        (SAID, {}, "closed_at = now()", "session_end"),
        (SAID, {"memory_trigger_message_count": 3}, None, "message_count"),
        (SAID, {}, "pending_since = now() - interval '25 hours'", "interval"),
        (SAID, {"memory_trigger_apps": json.dumps({"default": {"message_count": 2}})}, None, "message_count"),
        (SAID, {"memory_trigger_apps": json.dumps({"other": {"message_count": 2}})}, None, None),
        (SAID, {"memory_trigger_session_end": False}, "closed_at = now()", None),
        (SAID, {"memory_extraction_interval_hours": 0}, "pending_since = now() - interval '25 hours'", None),
        (SAID, {}, "ended_at = now() - interval '31 minutes'", "inactivity"),
        (SAID, {}, "ended_at = now() - interval '29 minutes'", None),
        (SAID, {"memory_trigger_inactivity_minutes": 0}, "ended_at = now() - interval '31 minutes'", None),
    ],
)
async def test_triggers(storage, make_worker, run, *, texts, live, changed, trigger):
    await talk(storage, *texts, at=datetime.now(UTC))
    if changed:
        run(f"UPDATE discreet.session_record SET {changed}")
    worker = make_worker(live=live)
    assert [found async for _, found in worker.due()] == ([trigger] if trigger else [])


async def test_disabled_extraction_takes_nothing(storage, make_worker):
    await talk(storage, *SAID)
    assert await make_worker(live={"memory_extraction_enabled": False}).fire() == 0


@pytest.mark.slow
async def test_a_compaction_costs_no_call_and_its_summary_is_the_rolling_one(storage, make_worker, provider, rows):
    worker = make_worker(live={"memory_trigger_compaction": True})
    await talk(storage, *SAID, at=datetime.now(UTC))
    new = RollingSummary(text="Ann keeps parrots and bakes at night.", rounds=2, last_message_id="a-thread-r1")
    await storage.summaries.commit("ann", "thread", expected=RollingSummary(), new=new)
    await worker.once()
    assert {r.schema_name for _, requests in provider.batches.values() for r in requests} == {"extraction"}
    [summary] = await storage.memories.latest("ann", filters=MemoryFilters(types=["conversation_summary"]))
    assert summary.text == "Ann keeps parrots and bakes at night."
    assert summary.provenance.source == "compaction"
    assert rows("SELECT trigger, state FROM discreet.batch_requests WHERE kind = 'summary'") == [
        ("compaction", "applied")
    ]
    assert rows("SELECT event_count FROM discreet.session_summary") == [(2,)]


async def test_the_model_reads_only_what_the_rolling_summary_does_not_cover(storage, worker, provider, run):
    await talk(storage, *SAID)
    new = RollingSummary(text="Ann keeps parrots.", rounds=2, last_message_id="a-thread-r1")
    await storage.summaries.commit("ann", "thread", expected=RollingSummary(), new=new)
    run("UPDATE discreet.session_record SET compacted_rounds = 2, closed_at = now()")
    await worker.once()
    [prompt] = [r for _, rs in provider.batches.values() for r in rs if r.schema_name == "session_summary"]
    assert "Ann keeps parrots." in prompt.data
    assert SAID[2] in prompt.data
    assert SAID[0] not in prompt.data
    assert SAID[1] not in prompt.data


@pytest.mark.slow
async def test_a_batch_that_goes_on_is_looked_at_later(storage, worker, provider, later):
    provider.is_done = False
    await talk(storage, *SAID)
    await worker.once()
    later()
    await worker.once()
    assert await facts_of(storage) == []
    provider.is_done = True
    later()
    await worker.once()
    assert await facts_of(storage) == sorted(SAID)
    assert len(provider.batches) == 1


@pytest.mark.slow
async def test_what_failed_is_submitted_again_and_what_succeeded_is_not(storage, worker, provider, later, rows):
    refused = set()

    def answer(request):
        if "parrots" in request.data and request.custom_id not in refused:
            refused.add(request.custom_id)
            return BatchResult(custom_id=request.custom_id, state="failed", error="server_error")
        return echo(request)

    provider.answer = answer
    await talk(storage, SAID[0], thread="one")
    await talk(storage, SAID[1], thread="two")
    for _ in range(5):
        await worker.once()
        later()
    assert await facts_of(storage) == sorted(SAID[:2])
    assert rows("SELECT attempts, state FROM discreet.batch_requests ORDER BY 1") == [(1, "applied"), (2, "applied")]
    assert [len(requests) for _, requests in provider.batches.values()] == [2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("state", ["failed", "expired", "cancelled"])
async def test_a_prompt_that_never_succeeds_ends_as_failed_and_can_be_tried_again(
    storage, worker, provider, *, later, rows, state
):
    provider.answer = lambda request: BatchResult(custom_id=request.custom_id, state=state, error="broken")
    await talk(storage, SAID[0])
    for _ in range(8):
        await worker.once()
        later()
    assert rows("SELECT attempts, state, error FROM discreet.batch_requests") == [(3, "failed", "broken")]
    provider.answer = echo
    [job] = [job for job in await storage.background.jobs.latest() if job.figures.get("failed")]
    assert await storage.background.requests.retry(job.job_key) == 1
    for _ in range(4):
        await worker.once()
        later()
    assert await facts_of(storage) == [SAID[0]]


@pytest.mark.slow
async def test_results_come_shuffled_twice_and_with_strangers(storage, worker, provider, later):
    def changed(results):
        return [*reversed(results), *results, BatchResult(custom_id="nobody", state="succeeded", text="{}")]

    provider.changed = changed
    await talk(storage, *SAID)
    await worker.once()
    later()
    await worker.once()
    assert await facts_of(storage) == sorted(SAID)


@pytest.mark.slow
async def test_a_vanished_batch_is_submitted_anew(storage, worker, provider, later):
    await talk(storage, SAID[0])
    provider.is_done = False
    await worker.once()
    provider.vanished.add("batch-0")
    provider.is_done = True
    for _ in range(5):
        later()
        await worker.once()
    assert await facts_of(storage) == [SAID[0]]
    assert sorted(job.state for job in await storage.background.jobs.latest()) == ["completed", "vanished"]


@pytest.mark.slow
async def test_a_batch_whose_submission_was_not_heard_of_is_found(storage, worker, provider, later, rows):
    provider.failing = [("submitted", overloaded())]
    await talk(storage, SAID[0])
    await worker.once()
    assert rows("SELECT state, error, failures FROM discreet.batch_jobs") == [("submitting", "provider", 1)]
    for _ in range(5):
        later()
        await worker.once()
    assert await facts_of(storage) == [SAID[0]]
    assert len(provider.batches) == 1


async def test_a_provider_that_refuses_ends_the_job_and_its_prompts_wait(storage, worker, provider, later, rows):
    provider.failing = [("submit", ProviderError("no", is_passing=False))]
    await talk(storage, SAID[0])
    await worker.once()
    assert rows("SELECT state, error FROM discreet.batch_jobs") == [("failed", "provider")]
    assert rows("SELECT state FROM discreet.batch_requests") == [("pending",)]


async def test_a_missing_key_keeps_the_prompts(storage, make_worker, settings, rows):
    await talk(storage, SAID[0])
    worker = make_worker()

    def refuse(_name, _model):
        raise ConfigurationError

    worker._providers._make = refuse
    await worker.once()
    assert rows("SELECT state FROM discreet.batch_requests") == [("pending",)]
    assert rows("SELECT count(*) FROM discreet.batch_jobs") == [(0,)]


@pytest.mark.slow
async def test_a_cancelled_job_keeps_what_was_paid_and_drops_the_rest(storage, worker, provider, later, rows):
    provider.is_done = False
    provider.answer = lambda request: echo(request) if "parrots" in request.data else None
    await talk(storage, SAID[0], thread="one")
    await talk(storage, SAID[1], thread="two")
    await worker.once()
    [job] = await storage.background.jobs.latest()
    assert (await storage.background.jobs.cancel(job.job_key)).is_cancelled
    later()
    await worker.once()
    assert provider.cancelled == {"batch-0"}
    assert await facts_of(storage) == [SAID[0]]
    assert rows("SELECT state FROM discreet.batch_requests ORDER BY 1") == [("applied",), ("cancelled",)]
    assert [job.state for job in await storage.background.jobs.latest()] == ["cancelled"]
    assert await storage.background.jobs.cancel(job.job_key) is None


async def test_a_batch_holds_no_more_than_the_provider_takes(storage, make_worker, later):
    provider = ScriptedProvider(limits=BatchLimits(requests=2, bytes=10_000_000))
    worker = make_worker(provider=provider)
    for number in range(5):
        await talk(storage, f"I have {number} cousins in Hue.", thread=f"t{number}")
    await worker.once()
    assert [len(requests) for _, requests in provider.batches.values()] == [2, 2, 1]


@pytest.mark.slow
async def test_a_batch_is_no_longer_than_the_provider_takes(storage, make_worker, later):
    provider = ScriptedProvider(limits=BatchLimits(requests=100, bytes=1_500))
    worker = make_worker(provider=provider)
    for number in range(4):
        await talk(storage, f"I have {number} cousins in Hue. " + "They are fine people. " * 20, thread=f"t{number}")
    await worker.once()
    assert [len(requests) for _, requests in provider.batches.values()] == [2, 2]


@pytest.mark.slow
async def test_many_turns_become_several_prompts(storage, worker, provider, later):
    await talk(storage, *(f"Cousin number {number} lives in town {number * 7}." for number in range(95)))
    await worker.once()
    extractions = [r for _, rs in provider.batches.values() for r in rs if r.schema_name == "extraction"]
    assert [request.data.count('"said"') for request in extractions] == [40, 40, 15] or sorted(
        request.data.count('"said"') for request in extractions
    ) == [15, 40, 40]


async def test_the_applications_of_a_thread_have_prompts_of_their_own(storage, worker, provider):
    await talk(storage, SAID[0], app_name="one")
    await talk(storage, SAID[1], app_name="two", prefix="s")
    await worker.once()
    assert len([r for _, rs in provider.batches.values() for r in rs if r.schema_name == "extraction"]) == 2


async def test_conversations_without_a_user_are_left_alone(storage, worker, provider):
    await talk(storage, *SAID, user=None)
    await worker.once()
    assert provider.batches == {}


async def test_forgotten_rounds_reach_no_prompt(storage, worker, provider, later):
    await talk(storage, SAID[0], "I am allergic to peanuts.", SAID[2])
    await storage.memories.forget("ann", "allergic to peanuts")
    await worker.once()
    assert all("peanuts" not in request.data for _, rs in provider.batches.values() for request in rs)
    later()
    await worker.once()
    assert await facts_of(storage) == sorted([SAID[0], SAID[2]])


@pytest.mark.slow
async def test_what_is_forgotten_while_a_batch_is_under_way_is_not_kept(storage, worker, provider, later):
    await talk(storage, SAID[0], "I am allergic to peanuts.", SAID[2])
    provider.is_done = False
    await worker.once()
    await storage.memories.forget("ann", "allergic to peanuts")
    provider.is_done = True
    for _ in range(5):
        later()
        await worker.once()
    assert await facts_of(storage) == sorted([SAID[0], SAID[2]])
    [summary] = await storage.memories.latest("ann", filters=MemoryFilters(types=["conversation_summary"]))
    assert "peanuts" not in summary.text


async def test_proposals_wait_until_somebody_accepts_them(storage, make_worker, provider, later):
    worker = make_worker(live={"memory_extraction_review": True})
    await talk(storage, *SAID)
    await worker.once()
    later()
    await worker.once()
    assert await facts_of(storage) == []
    proposals = storage.background.proposals
    waiting = await proposals.waiting("ann")
    first, second, third = [each for each in waiting if each.record.type != "conversation_summary"]
    assert len(waiting) == 4
    kept = await proposals.accept("ann", first.proposal_key)
    assert kept.text == first.record.text
    assert (
        await proposals.accept("ann", second.proposal_key, changes={"text": "I keep three parrots."})
    ).text == "I keep three parrots."
    assert await proposals.refuse("ann", third.proposal_key)
    assert not await proposals.refuse("ann", third.proposal_key)
    assert await proposals.accept("ann", first.proposal_key) is None
    [summary] = await proposals.waiting("ann")
    assert (await proposals.accept("ann", summary.proposal_key)).type == "conversation_summary"
    assert await proposals.waiting("ann") == []
    assert len(await facts_of(storage)) == 2


@pytest.mark.slow
async def test_with_review_no_word_of_a_session_is_found_before_somebody_says_yes(
    storage, make_worker, provider, later
):
    worker = make_worker(live={"memory_extraction_review": True, "memory_trigger_compaction": True})
    await talk(storage, *SAID)
    new = RollingSummary(text="Ann keeps parrots and bakes at night.", rounds=2, last_message_id="a-thread-r1")
    await storage.summaries.commit("ann", "thread", expected=RollingSummary(), new=new)
    for _ in range(3):
        await worker.once()
        later()
    assert await storage.memories.search("ann", "Which parrots does she keep, and does she bake at night?") == []
    waiting = await storage.background.proposals.waiting("ann")
    [summary] = [each for each in waiting if each.record.type == "conversation_summary"]
    assert len(waiting) == 4
    await talk(storage, "I moved to Da Nang.", prefix="s")
    for _ in range(3):
        await worker.once()
        later()
    waiting = await storage.background.proposals.waiting("ann")
    assert [each.record.type for each in waiting].count("conversation_summary") == 1  # the newer one
    assert await storage.background.proposals.get("ann", summary.proposal_key) is None
    await storage.memories.forget("ann", "moved to Da Nang")
    left = await storage.background.proposals.waiting("ann")
    assert not [each for each in left if "Da Nang" in each.record.text or each.record.type == "conversation_summary"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"text": "my password is Horse7!bat" + "tery"}, SecretRefusedError),
        ({"text": "<EMAIL>"}, InvalidRecordError),
        ({"text": " "}, InvalidRecordError),
    ],
)
async def test_what_is_accepted_is_checked_as_what_is_extracted(storage, make_worker, later, changes, error):
    worker = make_worker(live={"memory_extraction_review": True})
    await talk(storage, SAID[0])
    for _ in range(2):
        await worker.once()
        later()
    [proposal] = await storage.background.proposals.waiting("ann")
    with pytest.raises(error):
        await storage.background.proposals.accept("ann", proposal.proposal_key, changes=changes)
    assert await storage.background.proposals.waiting("ann") == [proposal]


async def test_what_a_provider_fails_with_is_told(storage, worker, provider):
    await talk(storage, SAID[0])
    provider.failing = [("submit", ConfigurationError("Check OPENAI_API_KEY."))]
    done = await worker.once()
    assert (done.batches, done.problem) == (1, "Check OPENAI_API_KEY.")
    assert (await storage.background.watch.status()).failing == {"openai: configuration": 1}


@pytest.mark.slow
async def test_bad_items_are_counted_and_good_ones_kept(storage, worker, provider, later):
    def answer(request):
        if request.schema_name != "extraction":
            return echo(request)
        return {
            "items": [
                item("Keeps two African Grey parrots", "t1"),
                item("Owns a snake", "t1"),
                item("Works nights at a bakery"),
                item("Works nights at a bakery", "t9"),
                item("Works nights at a bakery", "t3", importance=11),
                item("Works nights at a bakery", "t3", action="nothing"),
                item("User's name is <PERSON>", "t3"),
                "nonsense",
            ],
            "moments": [
                {
                    "text": "Daughter Lan starts school",
                    "kind": "milestone",
                    "importance": 7,
                    "confidence": 1,
                    "sources": ["t2"],
                }
            ],
        }

    provider.answer = answer
    await talk(storage, *SAID)
    await worker.once()
    later()
    await worker.once()
    assert await facts_of(storage) == ["Daughter Lan starts school", "Keeps two African Grey parrots"]
    [job] = await storage.background.jobs.latest()
    refused = {name: n for name, n in job.figures.items() if name.startswith("refused")}
    assert refused == {
        "refused_not_stated": 1,
        "refused_no_source": 2,
        "refused_malformed": 2,
        "refused_known": 1,
        "refused_placeholder": 1,
    }


@pytest.mark.slow
async def test_answers_that_are_no_json_are_asked_for_again(storage, worker, provider, later):
    texts = iter(["I'm sorry", '{"items": [', "[]"])
    provider.answer = lambda request: next(texts, None) or echo(request)
    await talk(storage, SAID[0])
    for _ in range(5):
        await worker.once()
        later()
    assert await facts_of(storage) == []


@pytest.mark.slow
async def test_workers_side_by_side_take_and_apply_everything_once(storage, make_worker, provider, later, rows):
    for number in range(12):
        await talk(storage, f"I have a cousin called Minh{number} in Hue.", user=f"u{number}", thread=f"t{number}")
    workers = [make_worker() for _ in range(4)]
    for _ in range(5):
        await asyncio.gather(*(worker.once() for worker in workers))
        later()
    assert rows("SELECT state, count(*) FROM discreet.batch_requests GROUP BY 1") == [("applied", 12)]
    sent = [r.custom_id for _, rs in provider.batches.values() for r in rs]
    assert len(sent) == len(set(sent)) == 12
    for number in range(12):
        assert len(await facts_of(storage, f"u{number}")) == 1


async def test_a_worker_whose_lease_ran_out_changes_nothing_more(storage, make_worker, provider, *, later, run, rows):
    await talk(storage, SAID[0])
    provider.is_done = False
    worker, other = make_worker(), make_worker()
    await worker.once()
    [job] = await storage.background.jobs.latest()
    later()
    first = await storage.background.jobs.claim(lease_seconds=60)
    run("UPDATE discreet.batch_jobs SET lease_until = now() - interval '1 second'")
    provider.is_done = True
    later()
    await other.once()
    await worker._attend_one(first)  # logs that it lost the lease
    assert await facts_of(storage) == [SAID[0]]
    assert rows("SELECT state FROM discreet.batch_jobs") == [("completed",)]
    assert job.job_key == first.job_key


async def test_a_worker_is_seen_while_it_runs_and_stops_when_told(storage, make_worker, provider):
    worker = make_worker(collect_seconds=0)
    stopping = asyncio.Event()
    running = asyncio.create_task(worker.run(stopping, pause=0.05))
    async with asyncio.timeout(20):
        await until(storage.dsn, "EXISTS (SELECT FROM discreet.worker)")
        await talk(storage, *SAID)
        await until(storage.dsn, "EXISTS (SELECT FROM discreet.batch_jobs WHERE state = 'running')")
        stopping.set()
        await running
    status = await storage.background.watch.status()
    assert status.workers == 0
    assert status.jobs == {"running": 1}


async def test_prompts_wait_for_others_so_that_a_batch_is_worth_its_name(storage, make_worker, provider, run):
    worker = make_worker()
    await talk(storage, *SAID)
    await worker.fire()
    assert not await worker.submit()
    run("UPDATE discreet.batch_requests SET due_at = now() - interval '6 minutes'")
    assert await worker.submit()


@pytest.mark.slow
async def test_what_is_done_with_goes_after_a_month(storage, worker, later, rows, run):
    await talk(storage, *SAID)
    await worker.once()
    later()
    await worker.once()
    run("UPDATE discreet.batch_requests SET done_at = now() - interval '29 days'")
    assert not {"prompts", "batches"} & (await storage.retention.sweep()).keys()
    for table in ("batch_requests", "batch_jobs"):
        run(f"UPDATE discreet.{table} SET done_at = now() - interval '31 days'")
    gone = await storage.retention.sweep()
    assert (gone["prompts"], gone["batches"]) == (2, 1)
    assert rows("SELECT count(*) FROM discreet.batch_requests") == [(0,)]
