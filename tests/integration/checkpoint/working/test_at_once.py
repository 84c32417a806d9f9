"""Many threads at once, and two replicas in one thread."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.types import Command

from discreet.errors import TransientStateLostError
from discreet.testing import PromptRefusedError

THREADS = 40
TURNS = 3


def thread(number):
    return {"configurable": {"thread_id": f"thread-{number}"}}


def said_by(number):
    return [f"h:{number} {turn}" for turn in range(TURNS)]


def users(texts):
    return [text for text in texts if text[0] == "h"]


@pytest.mark.slow
async def test_threads_at_once_are_kept_apart(asynchronous, shop):
    talk = asynchronous.talk(shop.loop)

    async def converse(number):
        for turn in range(TURNS):
            await talk.invoke(shop.say(f"{number} {turn} use:note"), thread(number))
        return await talk.texts(thread(number))

    for number, texts in enumerate(await asyncio.gather(*map(converse, range(THREADS)))):
        assert users(texts) == said_by(number)
    assert shop.model.refused == 0
    assert len(shop.runs) == THREADS * TURNS


@pytest.mark.slow
async def test_threads_of_a_thread_pool_are_kept_apart(blocking, shop):
    graph = shop.loop(blocking.open())

    def converse(number):
        for turn in range(TURNS):
            graph.invoke(shop.say(f"{number} {turn} use:note"), thread(number))
        return graph.get_state(thread(number)).values["messages"]

    with ThreadPoolExecutor(16) as pool:
        for number, messages in enumerate(pool.map(converse, range(THREADS))):
            assert [message.text.split()[1] for message in messages if message.type == "human"] == ["0", "1", "2"]
            assert {message.text.split()[0] for message in messages if message.type == "human"} == {str(number)}
    assert shop.model.refused == 0


@pytest.mark.slow
async def test_pauses_and_failures_at_once_do_not_mix(asynchronous, shop):
    talk = asynchronous.talk(shop.loop)

    async def converse(number):
        order = ["use:note", "use:ask", "use:fail"][number % 3]
        try:
            await talk.invoke(shop.say(f"{order} {number}"), thread(number))
        except LookupError:
            return
        if order == "use:ask":
            await talk.invoke(Command(resume=f"yes-{number}"), thread(number))

    await asyncio.gather(*map(converse, range(THREADS)))
    asked = [f"ask yes-{number}" for number in range(THREADS) if number % 3 == 1]
    assert sorted(run for run in shop.runs if run != "note") == sorted(asked)
    await asyncio.gather(*(talk.invoke(shop.say("and now"), thread(number)) for number in range(THREADS)))
    assert shop.model.refused == 0
    for number in range(THREADS):
        assert users(await talk.texts(thread(number)))[-1] == "h:and now"


async def said_ever(talk):
    states = await talk.history()
    return {
        " ".join(message.text.split()[:2])
        for state in states
        for message in state.values["messages"]
        if message.type == "human"
    }


@pytest.mark.slow
async def test_replicas_in_one_thread_at_once_lose_no_finished_turn(asynchronous, shop):
    talks = [asynchronous.talk(shop.loop) for _ in range(3)]
    await talks[0].invoke(shop.say("the beginning"))
    for number in range(6):
        await asyncio.gather(*(talk.invoke(shop.say(f"{who} {number} use:note")) for who, talk in enumerate(talks)))
    everything = {"the beginning", *(f"{who} {number}" for who in range(3) for number in range(6))}
    for talk in talks:
        assert await said_ever(talk) == everything
        assert (await talk.texts())[0] == "h:the beginning"
        assert await talk.texts() == await talks[0].texts()
        assert (await talk.state()).next == ()
    await talks[1].invoke(shop.say("the end"))
    assert shop.model.refused == 0


async def test_two_runs_of_one_replica_in_one_thread_at_once(asynchronous, shop, stock):
    """LangGraph leaves this to its caller: a run that comes in the middle of another's turn meets its open call."""

    async def both(talk):
        await talk.invoke(shop.say("the beginning"))
        runs = (talk.invoke(shop.say(f"run {number} use:note")) for number in range(4))
        results = await asyncio.gather(*runs, return_exceptions=True)
        assert all(isinstance(result, dict | PromptRefusedError) for result in results)
        return await said_ever(talk)

    expected = {"the beginning", *(f"run {number}" for number in range(4))}
    assert await both(stock.talk(shop.loop)) == expected
    talk = asynchronous.talk(shop.loop)
    assert await both(talk) == expected
    await talk.invoke(shop.say("the end"))
    assert (await talk.texts())[-2:] == ["h:the end", "a:answer to"]


async def test_many_answers_to_one_question_act_once_or_are_refused(asynchronous, shop):
    talks = [asynchronous.talk(shop.loop) for _ in range(8)]
    await talks[0].invoke(shop.say("use:ask one"))
    results = await asyncio.gather(*(talk.invoke(Command(resume="yes")) for talk in talks[1:]), return_exceptions=True)
    assert [type(result) for result in results] == [TransientStateLostError] * 7
    assert shop.runs == []
    await talks[0].invoke(Command(resume="yes"))
    assert shop.runs == ["ask yes"]


@pytest.mark.fast_cases(2)
async def test_a_replica_that_only_reads_never_disturbs(rows, shop):
    writer, reader = rows.talk(shop.loop), rows.talk(shop.loop)
    for turn in range(4):
        await writer.invoke(shop.say(f"turn {turn} use:note"))
        assert len(await reader.texts()) == 2 * (turn + 1)
        assert len(await reader.history(limit=1)) == 1
    await writer.invoke(shop.say("use:ask five"))
    await reader.state(subgraphs=True)
    await writer.invoke(Command(resume="yes"))
    assert shop.runs[-1] == "ask yes"
    assert await reader.texts() == await writer.texts()
