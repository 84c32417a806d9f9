# ruff: noqa: D102  # a test's name says what it shows
"""What every provider of batches has to do, as tests to inherit. It needs pytest and pytest-asyncio in its mode "auto".

`pytest.register_assert_rewrite("discreet.testing.batch_conformance")` in a conftest.py makes failures tell more.

Example:
    class TestMine(BatchProviderConformance):
        @asynccontextmanager
        async def opened(self, script):
            with batch_server(answer_of, script=script) as server:
                yield Bench(lambda: MyProvider(base_url=server.base_urls["openai"]), shelf=server.shelf)
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from discreet.errors import ProviderError
from discreet.ports import BatchProvider, BatchRequest, BatchResult
from discreet.testing.batch_shelf import BatchScript, BatchShelf

MODEL = "model-1"
WORDS = "Öl und Привет 茶"
"""In every prompt and answer: it must be in no error and no log."""

SCHEMA = {
    "type": "object",
    "properties": {"echo": {"type": "string"}},
    "required": ["echo"],
    "additionalProperties": False,
}


def request(number: int) -> BatchRequest:
    """Return a prompt whose data ends with its custom id."""
    custom_id = f"prompt-{number}"
    return BatchRequest(custom_id=custom_id, instruction="Echo.", data=f"{WORDS}\u2028{custom_id}", schema=SCHEMA)


def answer_of(data: str) -> str:
    """Answer as the conformance tests expect it."""
    return json.dumps({"echo": data}, ensure_ascii=False)


@dataclass
class Bench:
    """A provider under test, and what is behind it."""

    another: Callable[[], BatchProvider]
    """Makes a provider, as a further process would. Who makes it closes it when the test is over."""
    shelf: BatchShelf | None = None
    """Of the provider behind it; None for one that keeps batches by itself."""

    def __post_init__(self) -> None:
        self.provider = self.another()

    async def submit(self, count: int = 4, job: str = "job-1") -> str:
        """Hand in so many prompts, numbered from 0."""
        return await self.provider.submit(job, MODEL, [request(number) for number in range(count)])

    async def ended(self, batch_id: str) -> list[BatchResult]:
        """Wait for the end of a batch and return its results by custom id, each once."""
        while (await self.provider.status(batch_id)).state == "running":
            pass
        return await self.read(batch_id)

    async def read(self, batch_id: str) -> list[BatchResult]:
        """Return the results by custom id, each once."""
        found = {each.custom_id: each async for each in self.provider.results(batch_id)}
        return [found[key] for key in sorted(found)]


def states(results: Sequence[BatchResult]) -> list[str]:
    """Return the state of each."""
    return [each.state for each in results]


class BatchProviderConformance(ABC):
    """Inherit it, name your class Test…, and say how a provider is opened."""

    @abstractmethod
    def opened(self, script: BatchScript) -> AbstractAsyncContextManager[Bench]:
        """Open a provider whose model answers as `answer_of`, and where things go wrong as `script` says.

        What needs a provider behind it is skipped for a bench without a shelf.
        """

    async def test_every_prompt_has_its_answer(self) -> None:
        async with self.opened(BatchScript()) as bench:
            results = await bench.ended(await bench.submit())
            assert [each.custom_id for each in results] == [request(number).custom_id for number in range(4)]
            assert [json.loads(each.text or "")["echo"] for each in results] == [
                request(number).data for number in range(4)
            ]
            assert all(each.input_tokens > 0 and each.output_tokens > 0 and each.model for each in results)

    async def test_it_says_what_it_is(self) -> None:
        async with self.opened(BatchScript()) as bench:
            assert bench.provider.name
            assert 0 <= bench.provider.price_factor <= 1
            assert bench.provider.limits.requests > 1
            wide = BatchRequest(custom_id="a", instruction="", data="茶" * 1000, schema=SCHEMA)
            narrow = BatchRequest(custom_id="a", instruction="", data="t" * 1000, schema=SCHEMA)
            assert bench.provider.size(wide, MODEL) - bench.provider.size(narrow, MODEL) == len(wide.data) * 2

    async def test_it_runs_until_it_ends(self) -> None:
        async with self.opened(BatchScript(polls=2)) as bench:
            batch_id = await bench.submit()
            told = [(await bench.provider.status(batch_id)).state for _ in range(3)]
            assert told in (["running", "running", "ended"], ["ended"] * 3)

    async def test_one_prompt_that_fails_is_no_other_ones_matter(self) -> None:
        async with self.opened(BatchScript(failing={"prompt-1": 400, "prompt-2": 500})) as bench:
            results = await bench.ended(await bench.submit())
            assert states(results) == ["succeeded", "failed", "failed", "succeeded"]
            assert [each.is_final for each in results] == [False, True, False, False]
            assert results[1].error
            assert WORDS not in repr(results)

    async def test_a_batch_may_be_one_prompt(self) -> None:
        async with self.opened(BatchScript()) as bench:
            assert states(await bench.ended(await bench.submit(1))) == ["succeeded"]

    async def test_results_can_be_read_again(self) -> None:
        async with self.opened(BatchScript()) as bench:
            batch_id = await bench.submit()
            assert await bench.ended(batch_id) == await bench.read(batch_id)

    @pytest.mark.parametrize(("shuffled", "duplicated"), [(True, False), (False, True), (True, True)])
    async def test_results_come_in_any_order_and_as_often_as_they_like(self, shuffled: bool, duplicated: bool) -> None:
        async with self.opened(BatchScript(shuffled=shuffled, duplicated=duplicated)) as bench:
            assert states(await bench.ended(await bench.submit())) == ["succeeded"] * 4

    async def test_what_was_answered_before_it_expired_is_there(self) -> None:
        async with self.opened(BatchScript(ends="expired", answered=2)) as bench:
            _shelf(bench)
            results = await bench.ended(await bench.submit())
            assert states(results)[:2] == ["succeeded"] * 2
            assert set(states(results)[2:]) <= {"expired"}

    async def test_a_batch_that_failed_as_a_whole_has_ended_without_answers(self) -> None:
        async with self.opened(BatchScript(ends="failed")) as bench:
            _shelf(bench)
            assert "succeeded" not in states(await bench.ended(await bench.submit()))

    async def test_what_was_answered_before_it_was_cancelled_is_there(self) -> None:
        async with self.opened(BatchScript(polls=9, answered=1)) as bench:
            batch_id = await bench.submit()
            await bench.provider.cancel(batch_id)
            results = await bench.ended(batch_id)
            assert states(results)[:1] in (["succeeded"], ["cancelled"])
            assert set(states(results)[1:]) <= {"cancelled"}
            await bench.provider.cancel(batch_id)

    async def test_a_batch_that_is_not_there_is_a_state(self) -> None:
        async with self.opened(BatchScript()) as bench:
            for unknown in ("batch-unknown", "batches/unknown"):
                assert (await bench.provider.status(unknown)).state == "vanished"
                assert await bench.read(unknown) == []
                await bench.provider.cancel(unknown)
                await bench.provider.delete(unknown)

    async def test_a_batch_that_vanished_is_a_state(self) -> None:
        async with self.opened(BatchScript()) as bench:
            batch_id = await bench.submit()
            _shelf(bench).lose()
            assert (await bench.provider.status(batch_id)).state == "vanished"
            assert await bench.read(batch_id) == []

    async def test_nothing_is_left_of_what_was_deleted(self) -> None:
        async with self.opened(BatchScript(failing={"prompt-1": 400})) as bench:
            batch_id = await bench.submit()
            await bench.ended(batch_id)
            await bench.provider.delete(batch_id)
            assert await bench.read(batch_id) == []
            assert bench.shelf is None or (bench.shelf.lying(), bench.shelf.unread()) == ([], [])
            await bench.provider.delete(batch_id)

    async def test_another_process_goes_on_with_the_id(self) -> None:
        async with self.opened(BatchScript()) as bench:
            batch_id = await bench.submit()
            _shelf(bench)
            bench.provider = bench.another()
            assert states(await bench.ended(batch_id)) == ["succeeded"] * 4

    async def test_a_batch_is_found_whose_id_was_lost(self, caplog: pytest.LogCaptureFixture) -> None:
        async with self.opened(BatchScript(lost=1)) as bench:
            since = datetime.now(UTC)
            _shelf(bench)
            with pytest.raises(ProviderError) as raised:
                await bench.submit()
            assert raised.value.is_passing
            bench.provider = bench.another()
            ids = [request(number).custom_id for number in range(4)]
            batch_id = await bench.provider.find("job-1", ids, since)
            assert batch_id is not None
            assert states(await bench.ended(batch_id)) == ["succeeded"] * 4
            assert len(_shelf(bench).batches) == 1
            assert WORDS not in caplog.text

    async def test_of_two_of_one_job_the_newer_one_is_found(self) -> None:
        async with self.opened(BatchScript()) as bench:
            since, ids = datetime.now(UTC), [request(number).custom_id for number in range(4)]
            for _ in range(2):
                batch_id = await bench.submit()
                await bench.ended(batch_id)
            assert await bench.provider.find("job-1", ids, since) == batch_id

    async def test_no_batch_is_found_that_is_of_another_job_or_was_never_taken(self) -> None:
        async with self.opened(BatchScript()) as bench:
            since = datetime.now(UTC)
            await bench.submit(job="job-11")
            assert await bench.provider.find("job-1", ["other-1", "other-2", "other-3", "other-4"], since) is None
            assert await bench.provider.find("job-1", ["other-1"], since + timedelta(days=1)) is None

    @pytest.mark.parametrize(("overloaded", "broken"), [(2, 0), (0, 1)])
    async def test_a_provider_that_is_busy_is_waited_for(
        self, overloaded: int, broken: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with self.opened(BatchScript()) as bench:
            batch_id = await bench.submit()
            script = _shelf(bench).script
            for call in (bench.ended, bench.provider.cancel, bench.read, bench.provider.delete):
                script.overloaded, script.broken = overloaded, broken
                await call(batch_id)
                assert (script.overloaded, script.broken) == (0, 0)
            script.overloaded = overloaded
            await bench.submit(job="job-2")
            assert WORDS not in caplog.text

    @pytest.mark.parametrize(("overloaded", "broken"), [(999, 0), (0, 999)])
    async def test_one_that_stays_busy_is_an_error_that_passes(self, overloaded: int, broken: int) -> None:
        async with self.opened(BatchScript(overloaded=overloaded, broken=broken)) as bench:
            _shelf(bench)
            for call in (
                bench.submit(),
                bench.provider.status("batches/1"),
                bench.provider.find("a", ["a"], datetime.now(UTC)),
            ):
                with pytest.raises(ProviderError) as raised:
                    await call
                assert raised.value.is_passing
                assert WORDS not in str(raised.value)

    async def test_results_that_break_off_are_an_error_that_passes(self) -> None:
        async with self.opened(BatchScript(dropped=1)) as bench:
            batch_id = await bench.submit()
            _shelf(bench)
            with pytest.raises(ProviderError) as raised:
                await bench.ended(batch_id)
            assert raised.value.is_passing
            assert states(await bench.read(batch_id)) == ["succeeded"] * 4

    async def test_lines_that_cant_be_read_are_left_out(self, caplog: pytest.LogCaptureFixture) -> None:
        async with self.opened(BatchScript(malformed=5, truncated=20)) as bench:
            batch_id = await bench.submit()
            _shelf(bench)
            assert states(await bench.ended(batch_id)) == ["succeeded"] * 3
            assert WORDS not in caplog.text


def _shelf(bench: Bench) -> BatchShelf:
    """Return what is behind it; skip the test if nothing is."""
    if bench.shelf is None:
        pytest.skip("keeps batches in this process and needs no provider of them")
    return bench.shelf
