"""A message that reaches the server twice is one turn with one answer, however it is sent."""

import asyncio
from uuid import uuid4

import pytest
import pytest_asyncio
from httpx import HTTPStatusError
from testkit.clients import local_sdk

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def client(dev_server):
    """The client of somebody whom nobody else is."""
    async with local_sdk(dev_server.url, dev_server.headers(f"twice-{uuid4().hex}")) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def thread(client):
    """A thread of theirs."""
    return (await client.threads.create())["thread_id"]


def said(text):
    """Return an input that says it."""
    return {"messages": [{"role": "user", "content": text}]}


async def texts(client, thread):
    """Return what the thread has, by type and text."""
    state = await client.threads.get_state(thread)
    return [(each["type"], each["content"]) for each in state["values"].get("messages", [])]


@pytest.mark.slow
async def test_two_waiting_requests_get_one_answer_of_one_turn(client, thread):
    first, second = await asyncio.gather(
        *(client.runs.wait(thread, "agent", input=said("I keep two parrots.")) for _ in range(2))
    )
    assert first["messages"][-1]["content"] == second["messages"][-1]["content"]
    assert {each["messages"][-1]["response_metadata"].get("delivery") for each in (first, second)} == {None, "repeated"}
    assert len(first["messages"]) == len(second["messages"]) == 2
    assert [kind for kind, _ in await texts(client, thread)] == ["human", "ai"]


@pytest.mark.slow
async def test_the_real_values_are_in_both_answers(client, thread):
    mail = f"{uuid4().hex[:8]}@example.com"
    answers = [await client.runs.wait(thread, "agent", input=said(f"Write to {mail}.")) for _ in range(2)]
    assert [mail in str(each["messages"]) for each in answers] == [True, True]
    assert len(await texts(client, thread)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["values", "updates", "messages", "messages-tuple"])
async def test_a_stream_of_each_mode_brings_the_answer_again(client, thread, mode):
    async def stream():
        events = client.runs.stream(thread, "agent", input=said("Which birds do I keep?"), stream_mode=mode)
        return [each async for each in events]

    first, second = await stream(), await stream()
    [_, (_, answer)] = await texts(client, thread)
    assert not [each for each in (*first, *second) if each.event == "error"]
    assert answer in str([each.data for each in second])


@pytest.mark.slow
async def test_a_second_request_that_would_interrupt_the_first_does_not(client, thread):
    first = await client.runs.create(thread, "agent", input=said("I live in Hue."))
    second = await client.runs.create(thread, "agent", input=said("I live in Hue."), multitask_strategy="interrupt")
    for run in (first, second):
        await client.runs.join(thread, run["run_id"])
        assert (await client.runs.get(thread, run["run_id"]))["status"] == "success"
    assert [kind for kind, _ in await texts(client, thread)] == ["human", "ai"]


@pytest.mark.slow
async def test_runs_without_a_thread_get_one_answer_too(client):
    answers = await asyncio.gather(
        *(client.runs.wait(None, "agent", input=said(f"I have {n} cats.")) for n in (3, 3, 4))
    )
    one, two, other = (each["messages"][-1] for each in answers)
    assert one["content"] == two["content"]
    assert {one["response_metadata"].get("delivery"), two["response_metadata"].get("delivery")} == {None, "repeated"}
    assert other["response_metadata"].get("delivery") is None


@pytest.mark.slow
async def test_another_text_another_thread_and_another_user_are_turns_of_their_own(client, thread, dev_server):
    other = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "agent", input=said("Yes."))
    await client.runs.wait(thread, "agent", input=said("Yes!"))
    await client.runs.wait(other, "agent", input=said("Yes."))
    assert (len(await texts(client, thread)), len(await texts(client, other))) == (4, 2)
    async with local_sdk(dev_server.url, dev_server.headers(f"other-{uuid4().hex}")) as somebody:
        own = (await somebody.threads.create())["thread_id"]
        await somebody.runs.wait(own, "agent", input=said("Yes."))
        assert len(await texts(somebody, own)) == 2


@pytest.mark.slow
async def test_the_same_text_after_the_window_is_a_turn_of_its_own(client, thread):
    await client.runs.wait(thread, "agent", input=said("And then?"))
    await asyncio.sleep(3.2)
    await client.runs.wait(thread, "agent", input=said("And then?"))
    assert len(await texts(client, thread)) == 4


@pytest.mark.slow
async def test_a_fork_with_the_same_text_is_a_turn_of_its_own(client, thread):
    await client.runs.wait(thread, "agent", input=said("First."))
    before = (await client.threads.get_state(thread))["checkpoint"]
    one = await client.runs.wait(thread, "agent", input=said("Second."))
    again = await client.runs.wait(thread, "agent", input=said("Second."), checkpoint=before)
    assert "delivery" not in again["messages"][-1]["response_metadata"]
    assert len(one["messages"]) == len(again["messages"]) == 4


@pytest.mark.slow
async def test_a_message_whose_first_request_was_refused_is_answered(client):
    missing = str(uuid4())
    with pytest.raises(Exception, match="404"):
        await client.runs.wait(missing, "agent", input=said("Hello there."))
    state = await client.runs.wait(missing, "agent", input=said("Hello there."), if_not_exists="create")
    assert "delivery" not in state["messages"][-1]["response_metadata"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cancelled", "rolled back", "deleted", "displaced"])
async def test_a_message_whose_first_run_is_stopped_before_it_begins_is_answered(client, thread, how):
    first = await client.runs.create(thread, "agent", input=said("I keep three parrots."))
    if how == "deleted":
        await client.runs.delete(thread, first["run_id"])
    elif how == "displaced":
        await client.runs.create(thread, "agent", input=said("Hello!"), multitask_strategy="interrupt")
    else:
        await client.runs.cancel(thread, first["run_id"], action="rollback" if how == "rolled back" else "interrupt")
    values = await client.runs.wait(thread, "agent", input=said("I keep three parrots."))
    assert values["messages"][-1]["response_metadata"].get("delivery") in (None, "repeated")
    assert [text for kind, text in await texts(client, thread) if kind == "human"].count("I keep three parrots.") == 1


@pytest.mark.slow
async def test_of_runs_without_a_thread_that_are_delivered_at_once_none_is_doubled(client):
    async def twice(number):
        message = said(f"I have {number} dogs.")
        first = asyncio.create_task(client.runs.wait(None, "agent", input=message))
        await asyncio.sleep(0.02)
        return [(await each)["messages"][-1] for each in (first, client.runs.wait(None, "agent", input=message))]

    for pair in await asyncio.gather(*(twice(number) for number in range(6))):
        assert pair[0]["content"] == pair[1]["content"]
        assert {each["response_metadata"].get("delivery") for each in pair} == {None, "repeated"}


def named(text, message_id="m-1"):
    """Return an input of a client that names its messages."""
    return {"messages": [{"role": "user", "content": text, "id": message_id}]}


async def shown(client, thread):
    """Return what the thread shows of itself."""
    found, state = await client.threads.get(thread), await client.threads.get_state(thread)
    return found["status"], found["values"], found["interrupts"], state["values"], state["next"]


@pytest.mark.slow
async def test_a_message_that_comes_again_under_its_id_gets_the_stored_answer_at_any_time(client, thread):
    mail = f"{uuid4().hex[:8]}@example.com"
    first = await client.runs.wait(thread, "agent", input=named(f"Write to {mail}."))
    await client.runs.wait(thread, "agent", input=named("And then?", "m-2"))
    before = await shown(client, thread)
    await asyncio.sleep(3.2)
    again = await client.runs.wait(thread, "agent", input=named(f"Write to {mail}."))
    assert [each["content"] for each in again["messages"]] == [each["content"] for each in first["messages"]]
    assert again["messages"][-1]["response_metadata"]["delivery"] == "repeated"
    assert (await shown(client, thread))[3:] == before[3:]
    assert (await shown(client, thread))[0] == "idle"


@pytest.mark.slow
async def test_another_text_under_its_id_is_a_conflict_that_changes_nothing(client, thread):
    await client.runs.wait(thread, "agent", input=named("I keep two parrots."))
    before = await shown(client, thread)
    for how in (client.runs.wait, client.runs.create):
        with pytest.raises(HTTPStatusError) as refused:
            await how(thread, "agent", input=named("I keep three parrots."))
        answer = refused.value.response
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "message_id_reused")
    assert await shown(client, thread) == before
    assert len(await client.runs.list(thread)) == 1


@pytest.mark.slow
async def test_the_id_of_another_persons_message_tells_nothing(client, thread, dev_server):
    await client.runs.wait(thread, "agent", input=named("I keep two parrots."))
    async with local_sdk(dev_server.url, dev_server.headers(f"other-{uuid4().hex}")) as somebody:
        with pytest.raises(HTTPStatusError, match="404"):
            await somebody.runs.wait(thread, "agent", input=named("I keep three parrots."))
