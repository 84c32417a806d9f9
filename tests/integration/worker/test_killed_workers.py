"""A worker is killed, stopped or cut off at any of its steps: each result is applied once, and nothing is lost."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import psycopg
import pytest
from testkit.interrupted import let_time_pass, recover, set_up, transactions_begun, worker_of, worker_process
from testkit.keys import USER_KEYS
from testkit.outside import OutsideProvider

from discreet.errors import UserBusyError

pytestmark = pytest.mark.kills

DRAWN = 8
"""How many steps the fast suite tries of a kill; of all else it tries two. With the others, 24. Every night tries every step."""
CHUNKS = 20
"""How many tests share the steps of a slow run."""

two_parts = pytest.mark.parametrize(
    ("part", "parts"),
    [*((n, 2) for n in range(2)), *(pytest.param(n, 8, marks=pytest.mark.slow) for n in range(8))],
)
"""One step of each half of the way, and by night one of each eighth."""

FACTS = [
    "Em is my dog.",
    "I am allergic to peanuts.",
    "I bake bread.",
    "I have two cats.",
    "I have two cats.",
    "I keep two African Grey parrots.",
    "I play the cello.",
    "I read Proust.",
    "I row.",
    "I stopped working as a nurse at the hospital.",
    "My car fails once a year.",
    "My sister Mai paints.",
]
"""Of all users, in the order of the alphabet."""

MEMORIES = """
SELECT user_key::text, type::text, text, valid_to IS NOT NULL AS is_superseded, provenance ->> 'source'
FROM discreet.memory ORDER BY 1, 2, 3, 4
"""
"""Without their sessions: a fact that was said twice is of the one that was applied first."""
SUMMARIES = "SELECT user_key::text, thread_id, said::jsonb, event_count FROM discreet.session_summary ORDER BY 1, 2"
REQUESTS = """
SELECT user_key::text, kind, thread_id, request_ids::text, state, attempts, input_tokens, output_tokens, error
FROM discreet.batch_requests ORDER BY 1, 2, 3, 4
"""
COUNTS = "SELECT user_key::text, memories FROM discreet.user_memories ORDER BY 1"
FIGURES = "SELECT figures FROM discreet.batch_jobs"
JOBS = "SELECT job_key, batch_id, state, done_at IS NOT NULL FROM discreet.batch_jobs"


class Findings:
    """All that is checked of a database and a provider, so that two runs can be compared."""

    def __init__(self, dsn, provider):
        with psycopg.connect(dsn) as connection:

            def asked(query):
                return connection.execute(query).fetchall()

            self.memories, self.summaries, self.requests = asked(MEMORIES), asked(SUMMARIES), asked(REQUESTS)
            self.counts = asked(COUNTS)
            self.jobs = {key.hex: (batch_id, state, done) for key, batch_id, state, done in asked(JOBS)}
            self.figures = sum((Counter(figures) for (figures,) in asked(FIGURES)), Counter())
        batches = provider.batches()
        self.handed_in = Counter(Counter(provider.handed_in()).values())
        """How many prompts were handed in how often."""
        known = {batch_id for batch_id, *_ in self.jobs.values()}
        self.unknown = [each["batch_id"] for each in batches if each["batch_id"] not in known]
        """Batches that the database does not know."""
        self.kept = [each["batch_id"] for each in batches if not each["is_deleted"]]
        """Batches whose texts lie at the provider."""

    def check(self, expected):
        self.check_results(expected)
        assert self.figures == expected.figures
        assert all(done for *_, done in self.jobs.values())
        self.check_provider()

    def check_results(self, expected):
        assert self.memories == expected.memories
        assert self.counts == expected.counts
        assert self.summaries == expected.summaries
        assert self.requests == expected.requests

    def check_provider(self):
        assert self.unknown == []
        assert self.kept == []


@dataclass(frozen=True)
class Undisturbed:
    """A run in which nothing happened."""

    findings: Findings
    labels: list[str]
    """Of its steps."""

    @property
    def quiet(self):
        """Steps at which no transaction is open."""
        steps = enumerate(self.labels, 1)
        depths = accumulate(map(transactions_begun, self.labels))
        return [step for (step, label), depth in zip(steps, depths, strict=True) if not depth]


class Case:
    """A database in which people have talked, and the provider of those who work on it."""

    def __init__(self, dsn, path, undisturbed, draw=None):
        self.dsn, self.undisturbed, self.draw = dsn, undisturbed, draw
        self.provider = OutsideProvider(path)
        self.steps = len(undisturbed.labels)
        self.happened = []
        """Steps at which a worker was killed or stopped, with what they were about."""
        self._path = path

    def worker(self, *acts, **options):
        """Return a worker process, for a block."""
        return worker_process(self.dsn, self._path, *acts, **options)

    def step_of(self, part, parts):
        """Draw a step of one of so many parts of the way."""
        return self.draw.randint(1 + self.steps * part // parts, self.steps * (part + 1) // parts)

    def quiet_step_of(self, part, parts):
        """Draw one at which no transaction is open, in which others would wait for a worker that stands still."""
        quiet = self.undisturbed.quiet
        return self.draw.choice(quiet[len(quiet) * part // parts : len(quiet) * (part + 1) // parts])

    async def recover(self, **options):
        """Let others do what is left; return whether all is done."""
        return await recover(self.dsn, self.provider, **options)

    def findings(self):
        return Findings(self.dsn, self.provider)

    def check(self, *, is_once=True):
        """Check that all is as if nothing had happened; unless `is_once` prompts may have been handed in twice."""
        found, expected = self.findings(), self.undisturbed.findings
        found.check(expected)
        if is_once:
            assert found.handed_in == expected.handed_in

    def kill(self, step):
        """Let a worker be killed."""
        with self.worker(("kill", step)) as worker:
            assert worker.wait() in {0, -signal.SIGKILL}
            self.happened.append((step, worker.told.get("label")))
        let_time_pass(self.dsn, leases=True)

    async def stop(self, step, *, lease_seconds):
        """Let a worker stand still while another does all that can be done, and go on after that."""
        with self.worker(("stop", step), lease_seconds=lease_seconds, alone=False) as worker:
            if not worker.wait_until_stopped():
                return
            self.happened.append((step, worker.told["label"]))
            done = await self.recover(is_patient=False)
            before = self.findings()
            worker.go_on()
            assert worker.wait() == 0
            if done:  # else it stood still in a transaction, which it may end
                self.findings().check_results(before)


@pytest.fixture
def each_case(make_database, migrated_template, tmp_path_factory):
    """Return what makes a case, as often as one likes, with `undisturbed` if that is known."""

    @asynccontextmanager
    async def make(undisturbed):
        path = tmp_path_factory.mktemp("case") / "provider"
        with make_database(template=migrated_template) as dsn:
            await talked(dsn, path)
            yield Case(dsn, path, undisturbed)

    return make


_undisturbed = []


@pytest.fixture
async def undisturbed(each_case):
    """Return what a worker comes to that nothing happens to, and its steps; found once."""
    if not _undisturbed:
        async with each_case(Undisturbed(None, [])) as case:
            with case.worker() as worker:
                assert worker.wait() == 0
                told = worker.told
            assert told["done"]
            _undisturbed.append(Undisturbed(case.findings(), told["labels"]))
    return _undisturbed[0]


@pytest.fixture
async def case(database, undisturbed, request, tmp_path):
    """Return a case of its own, which draws by the seed of the run."""
    path = tmp_path / "provider"
    await talked(database, path)
    seed = request.config.getoption("--hypothesis-seed")
    made = Case(database, path, undisturbed, Random(None if seed is None else f"{seed} {request.node.name}"))
    yield made
    request.node.add_report_section("call", "steps", f"{made.happened}")


async def talked(dsn, path):
    async with worker_of(dsn, OutsideProvider(path)) as (storage, _):
        await set_up(storage)


def test_an_undisturbed_worker_stores_what_was_said(undisturbed):
    found = undisturbed.findings
    facts = [row for row in found.memories if row[1] == "user_fact"]
    assert sorted(text for _, _, text, is_superseded, _ in facts if not is_superseded) == FACTS
    assert [text for _, _, text, is_superseded, _ in facts if is_superseded] == ["I work as a nurse at the hospital."]
    assert found.handed_in == {1: 5, 2: 1}
    found.check(found)


@pytest.mark.parametrize("part", range(DRAWN))
async def test_a_worker_that_is_killed_at_any_step_loses_and_doubles_nothing(case, part):
    case.kill(case.step_of(part, DRAWN))
    assert await case.recover()
    case.check()


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_a_worker_that_is_killed_at_every_step_loses_and_doubles_nothing(each_case, undisturbed, chunk):
    failed = []
    for step in range(1 + chunk, len(undisturbed.labels) + 1, CHUNKS):
        async with each_case(undisturbed) as case:
            case.kill(step)
            try:
                assert await case.recover()
                case.check()
            except AssertionError as error:
                failed.append(f"{step} {undisturbed.labels[step - 1]}: {str(error)[:300]}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("number", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 8))])
async def test_workers_that_are_killed_one_after_the_other_lose_and_double_nothing(case, number):
    first = case.draw.randint(1, case.steps)
    case.kill(first)
    case.kill(case.draw.randint(1, case.steps - first + 1))
    assert await case.recover()
    case.check()


@pytest.mark.parametrize("number", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 4))])
async def test_of_several_workers_one_is_killed(case, number):
    killed = ("kill", case.draw.randint(1, case.steps // 2))
    with ExitStack() as stack:
        acts = [[killed], *[[]] * case.draw.randint(1, 2)]
        first, *others = [stack.enter_context(case.worker(*each, alone=False)) for each in acts]
        assert [worker.wait() for worker in others] == [0] * len(others)
        assert first.wait() in {0, -signal.SIGKILL}
    assert await case.recover()
    case.check()


@pytest.mark.parametrize("lease_seconds", [90.0, 0.3], ids=["unnoticed", "noticed"])
@pytest.mark.parametrize("part", range(2))
async def test_a_worker_that_stood_still_while_another_took_over_changes_nothing_more(case, part, lease_seconds):
    await case.stop(case.quiet_step_of(part, 2), lease_seconds=lease_seconds)
    assert await case.recover()
    case.check(is_once=False)


@pytest.mark.slow
@pytest.mark.parametrize("lease_seconds", [90.0, 0.3], ids=["unnoticed", "noticed"])
@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_a_worker_that_stood_still_at_every_quiet_step_changes_nothing_more(
    each_case, undisturbed, chunk, lease_seconds
):
    failed = []
    for step in undisturbed.quiet[chunk::CHUNKS]:
        async with each_case(undisturbed) as case:
            try:
                await case.stop(step, lease_seconds=lease_seconds)
                assert await case.recover()
                case.check(is_once=False)
            except AssertionError as error:
                failed.append(f"{step} {undisturbed.labels[step - 1]}: {str(error)[:300]}")
    assert not failed, "\n".join(failed)


@two_parts
async def test_a_worker_whose_connections_are_cut_goes_on_by_itself(case, part, parts):
    with case.worker(("cut", case.step_of(part, parts))) as worker:
        assert worker.wait() == 0
        assert worker.told["done"]
    case.check()


@two_parts
async def test_what_is_forgotten_while_a_worker_stands_still_is_not_kept(case, part, parts):
    with case.worker(("stop", case.quiet_step_of(part, parts))) as worker:
        worker.wait_until_stopped()
        async with worker_of(case.dsn, case.provider) as (storage, _):
            try:
                await forget_peanuts(storage)
            except UserBusyError:  # it stands still in a transaction of hers
                worker.go_on()
                await forget_peanuts(storage)
            else:
                worker.go_on()
        assert worker.wait() == 0
    assert await case.recover()
    check_without_peanuts(case)


@two_parts
async def test_what_is_forgotten_after_a_worker_was_killed_is_not_kept(case, part, parts):
    case.kill(case.step_of(part, parts))
    async with worker_of(case.dsn, case.provider) as (storage, _):
        await forget_peanuts(storage)
    assert await case.recover()
    check_without_peanuts(case)


@two_parts
async def test_of_a_user_who_is_erased_in_the_middle_nothing_is_kept(case, part, parts):
    case.kill(case.step_of(part, parts))
    ann = USER_KEYS.of_user("ann")
    with psycopg.connect(case.dsn) as connection:
        connection.execute("UPDATE discreet.users SET epoch = epoch + 1 WHERE user_key = %s", (ann,))
        for table in ("memory", "conversation_log", "session_record", "session_summary", "rolling_summary"):
            connection.execute(f"DELETE FROM discreet.{table} WHERE user_key = %s", (ann,))
    assert await case.recover()
    found, expected = case.findings(), case.undisturbed.findings
    assert found.memories == [row for row in expected.memories if row[0] != str(ann)]
    assert found.summaries == [row for row in expected.summaries if row[0] != str(ann)]
    found.check_provider()


async def forget_peanuts(storage):
    """Do what the tool has its model do: forget the fact if there is one, else what was said, then what is told to be left."""
    latest = await storage.memories.latest("ann")
    fact = next((each for each in latest if "peanuts" in each.text and each.type == "user_fact"), None)
    gone = await storage.memories.forget("ann", "allergic to peanuts" if fact is None else fact.entry_id)
    for left in gone.still:  # kept by the worker since `latest`
        if "peanuts" in left.text:
            await storage.memories.forget("ann", left.entry_id)


def check_without_peanuts(case):
    found, expected = case.findings(), case.undisturbed.findings
    assert [row for row in found.memories if row[1] != "conversation_summary"] == [
        row for row in expected.memories if row[1] != "conversation_summary" and "peanuts" not in row[2]
    ]
    assert {state for *_, state, _, _, _, _ in found.requests} <= {"applied", "cancelled"}
    found.check_provider()
