import asyncio
import contextvars
import threading

import pytest

from discreet.background_loop import BackgroundLoop, wait_for
from discreet.errors import ConfigurationError

speaker = contextvars.ContextVar("speaker", default="nobody")


async def who():
    await asyncio.sleep(0)
    return speaker.get()


def test_the_coroutine_sees_the_context_of_the_caller():
    speaker.set("ann")
    assert wait_for(who()) == "ann"


def test_many_threads_share_one_loop():
    loops = []

    async def note():
        loops.append(asyncio.get_running_loop())

    threads = [threading.Thread(target=lambda: wait_for(note())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loops) == 8
    assert len(set(loops)) == 1


def test_an_error_comes_through():
    async def fail():
        raise LookupError("no")

    with pytest.raises(LookupError):
        wait_for(fail())


def test_waiting_on_the_loop_for_itself_is_refused():
    loop = BackgroundLoop()

    async def outer():
        return loop.wait(who())

    with pytest.raises(ConfigurationError, match="await"):
        loop.wait(outer())
