"""Processes of their own: one is killed in the middle of a turn, others take turns or run at the same time."""

import json
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kit import places
from kit.search import search
from testkit.scripts import ScriptProcess

WORKER = Path(__file__).with_name("worker.py")
KILLED = -9
ROWS = ["postgres:async", "postgres:sync"]
"""Rows that other processes see."""


@contextmanager
def worker(dsn, *options):
    with ScriptProcess(WORKER, dsn, *options) as process:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        yield process


def send(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()


def receive(process):
    line = process.stdout.readline()
    return json.loads(line) if line else pytest.fail(process.stderr.read())


ORDERS = {"loop": "use:note", "guarded": "gate:note"}


@pytest.fixture(params=["loop", "guarded"])
def killed(request, database, shop):
    """Return the shape of a graph whose thread had one finished turn and then one that was killed in its tool."""
    with worker(database, request.param, "sync", "die", shop.planted.seed) as process:
        send(process, f"hello there {shop.email}")
        receive(process)
        send(process, f"{ORDERS[request.param]} one {shop.word} {shop.email}")
        assert process.wait(60) == KILLED
    return request.param


def said(values):
    return [message.text for message in values["messages"] if message.type == "human"]


@pytest.mark.slow
async def test_a_killed_turn_runs_again_and_answers(rows, shop, killed):
    talk = rows.talk(getattr(shop, killed))
    assert (await talk.state()).next
    result = await talk.invoke(None)
    assert len(shop.runs) == 1
    assert shop.model.refused == 0
    assert result["messages"][-1].type == "ai"
    first, second = said((await talk.state()).values)
    assert second.startswith(f"{ORDERS[killed]} one {shop.word} ")
    assert shop.email not in first + second
    await talk.invoke(shop.say("and now"))
    assert [text[0] for text in await talk.texts()] == ["h", "a"] * 3


@pytest.mark.slow
async def test_a_new_message_after_a_killed_turn_is_answered(rows, shop, killed, on_disk):
    talk = rows.talk(getattr(shop, killed))
    await talk.invoke(shop.say("something else"))
    assert (shop.model.refused, shop.runs) == (0, [])
    assert await talk.texts() == [
        "h:hello there",
        "a:answer to",
        f"h:{ORDERS[killed]} one",
        "h:something else",
        "a:answer to",
    ]
    assert sum(shop.word in text for text in said((await talk.state()).values)) == 2
    assert on_disk(**shop.hidden()) == set()


@pytest.mark.slow
async def test_a_turn_killed_twice_runs_again(rows, shop, killed, database):
    with worker(database, killed, "sync", "die", shop.planted.seed) as process:
        send(process, f"{ORDERS[killed]} two {shop.word}")
        assert process.wait(60) == KILLED
    talk = rows.talk(getattr(shop, killed))
    await talk.invoke(None)
    assert [text for text in await talk.texts() if text[0] == "h"] == [
        "h:hello there",
        f"h:{ORDERS[killed]} one",
        f"h:{ORDERS[killed]} two",
    ]
    assert shop.model.refused == 0


@pytest.mark.slow
def test_a_killed_turn_shows_the_users_text_once(database, shop, killed):
    dump = "".join(row for table in places.snapshot(database).values() for row in table)
    plain, escaped = dump.count(shop.word), dump.count(shop.word.encode().hex())
    assert plain + escaped == 1
    assert search(places.rows(database), shop.planted).leaks == {}


@pytest.mark.slow
async def test_two_processes_take_turns(rows, shop, database):
    with ExitStack() as stack:
        processes = [stack.enter_context(worker(database, "loop", "async")) for _ in range(2)]
        for number in range(6):
            process = processes[number % 2]
            send(process, f"turn {number} use:note")
            answer = receive(process)
            assert [text for text in answer["texts"] if text[0] == "h"] == [f"h:turn {n}" for n in range(number + 1)]
            assert answer["refused"] == 0
    assert len(await rows.talk(shop.loop).texts()) == 12


@pytest.mark.slow
async def test_two_processes_at_the_same_time_lose_no_finished_turn(rows, shop, database):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("the beginning"))
    with ExitStack() as stack:
        processes = [stack.enter_context(worker(database, "loop", "async")) for _ in range(2)]
        for number in range(5):
            for name, process in zip("ab", processes, strict=True):
                send(process, f"{name} {number} use:note")
            for process in processes:
                assert receive(process)["refused"] == 0
    ever = {text for state in await talk.history() for text in said(state.values)}
    words = {" ".join(text.split()[:2]) for text in ever}
    assert words == {"the beginning", *(f"{name} {number}" for name in "ab" for number in range(5))}
    assert (await talk.texts())[0] == "h:the beginning"
    await talk.invoke(shop.say("the end"))
    assert shop.model.refused == 0
