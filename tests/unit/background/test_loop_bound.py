"""What belongs to one event loop is awaited from others: results, errors and cancellation pass."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from discreet import loop_bound
from discreet.errors import StorageUnavailableError
from discreet.loop_bound import bound_to_loop

who = contextvars.ContextVar("who", default="nobody")


class Part:
    """Says where its methods run."""

    size = 3

    def __init__(self):
        self.events = []
        self.begun = threading.Event()

    async def where(self, *args, **kwargs):
        return asyncio.get_running_loop(), args, kwargs, who.get()

    async def fail(self):
        raise KeyError("gone")

    async def hang(self):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.events.append("cancelled")
            raise

    def plain(self):
        return "plain"


@pytest.fixture
def loop():
    """Return an event loop that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def test_on_its_own_loop_a_part_works_as_it_is():
    part = bound_to_loop(Part(), asyncio.get_running_loop())
    assert await part.where(1, two=2) == (asyncio.get_running_loop(), (1,), {"two": 2}, "nobody")
    assert len(asyncio.all_tasks()) == 1


async def test_from_another_loop_a_call_hops_there_and_back_with_its_context(loop):
    part = bound_to_loop(Part(), loop)
    who.set("ann")
    for _ in range(2):
        assert await part.where(1, two=2) == (loop, (1,), {"two": 2}, "ann")
    assert await asyncio.to_thread(lambda: asyncio.run(part.where())) == (loop, (), {}, "ann")


async def test_errors_pass(loop):
    with pytest.raises(KeyError, match="gone"):
        await bound_to_loop(Part(), loop).fail()


async def test_a_cancelled_caller_cancels_the_call(loop):
    part = Part()
    call = asyncio.create_task(bound_to_loop(part, loop).hang())
    await asyncio.to_thread(part.begun.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    async with asyncio.timeout(10):
        while not part.events:  # the other loop is told, and gets to it in its own time
            await asyncio.sleep(0.01)
            assert call.cancelled()
    assert part.events == ["cancelled"]


async def test_a_call_that_times_out_is_cancelled(loop):
    part = Part()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await bound_to_loop(part, loop).hang()


async def test_a_call_that_is_cancelled_over_there_is_an_error_here(loop):
    part = Part()
    call = asyncio.create_task(bound_to_loop(part, loop).hang())
    await asyncio.to_thread(part.begun.wait, 10)

    async def end():
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run_coroutine_threadsafe(end(), loop)
    with pytest.raises(StorageUnavailableError, match="closed while"):
        await call


async def test_a_loop_that_has_ended_is_an_error():
    loop = asyncio.new_event_loop()
    part = bound_to_loop(Part(), loop)
    loop.close()
    with pytest.raises(StorageUnavailableError, match="closed"):
        await part.where()


async def test_a_loop_that_is_blocked_is_an_error_and_the_call_is_never_made(loop, monkeypatch):
    monkeypatch.setattr(loop_bound, "ACCEPT_SECONDS", 0.1)
    part, go_on = Part(), threading.Event()
    loop.call_soon_threadsafe(go_on.wait, 30)
    with pytest.raises(StorageUnavailableError, match="ainvoke"):
        await bound_to_loop(part, loop).hang()
    go_on.set()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
    assert not part.begun.is_set()


async def test_it_stands_for_its_part(loop):
    part = Part()
    bound = bound_to_loop(part, loop)
    assert isinstance(bound, Part)
    assert (bound.size, bound.plain()) == (3, "plain")
    bound.size = 4
    assert part.size == bound.size == 4
    assert not hasattr(bound, "missing")


async def test_a_method_that_is_replaced_is_the_one_that_is_called(loop):
    part = Part()
    bound = bound_to_loop(part, loop)
    await bound.where()

    async def replaced():
        return "replaced"

    bound.where = replaced
    assert await bound.where() == "replaced"
