"""What goes where, when calls come in any order and the durable tier fails."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Interrupt

from discreet.checkpoint import RedactingSaver

TASK = "11111111-1111-1111-1111-111111111111"


class Failing(InMemorySaver):
    def __init__(self, *, broken):
        super().__init__()
        self.health = {"broken": broken}
        self.error = ConnectionError

    async def aput(self, *args):
        if self.health["broken"]:
            raise self.error
        return await super().aput(*args)


def checkpoint(**values):
    made = empty_checkpoint()
    made["channel_values"] = values
    made["channel_versions"] = {channel: f"{position:032}.5" for position, channel in enumerate(values, 1)}
    return made


def at(parent=None):
    return {"configurable": {"thread_id": "1", "checkpoint_ns": "", **({"checkpoint_id": parent} if parent else {})}}


async def in_rows(inner, made):
    return await inner.aget_tuple(at(made["id"]))


@pytest.fixture
def inner():
    return InMemorySaver()


@pytest.fixture
def saver(inner, policy):
    return RedactingSaver(inner, policy=policy)


async def test_an_incomplete_checkpoint_in_the_middle_of_a_turn_stays_in_ram(saver, inner):
    start = checkpoint(messages=[HumanMessage("hi")], **{"branch:to:a": None})
    middle = checkpoint(messages=[HumanMessage("hi")], request="raw", **{"branch:to:b": None})
    await saver.aput(at(), start, {"source": "input"}, {})
    await saver.aput(at(start["id"]), middle, {"source": "loop"}, {})
    assert await in_rows(inner, start)
    assert await in_rows(inner, middle) is None
    assert (await saver.aget_tuple(at())).checkpoint["channel_values"]["request"] == "raw"


async def test_a_users_message_is_stored_under_one_id(saver, inner):
    message = HumanMessage("hi")
    start = checkpoint(__start__={"messages": [message]})
    await saver.aput(at(), start, {"source": "input"}, {})
    end = checkpoint(messages=[message, AIMessage("bye")])
    await saver.aput(at(start["id"]), end, {"source": "loop"}, {})
    ids = [(await in_rows(inner, made)).checkpoint["channel_values"]["messages"][0].id for made in (start, end)]
    assert ids == [message.id] * 2
    assert message.id


async def test_parents_are_the_nearest_stored_ancestors(saver, inner):
    start = checkpoint(messages=[], **{"branch:to:a": None})
    middle = checkpoint(request="raw", **{"branch:to:b": None})
    end = checkpoint(messages=[HumanMessage("hi"), AIMessage("bye")], request="raw")
    for parent, made in ((None, start), (start["id"], middle), (middle["id"], end)):
        await saver.aput(at(parent), made, {"source": "loop" if parent else "input"}, {})
    assert (await in_rows(inner, end)).parent_config["configurable"]["checkpoint_id"] == start["id"]


async def test_versions_are_new_relative_to_what_is_stored(saver, inner):
    """LangGraph says that nothing is new; but the messages' last version was in RAM only."""
    start = checkpoint(**{"branch:to:a": None})
    middle = checkpoint(messages=[HumanMessage("hi"), AIMessage("bye")], **{"branch:to:b": None})
    end = checkpoint(messages=[HumanMessage("hi"), AIMessage("bye")])
    for parent, made in ((None, start), (start["id"], middle), (middle["id"], end)):
        await saver.aput(at(parent), made, {"source": "loop"}, {})
    assert [m.text for m in (await in_rows(inner, end)).checkpoint["channel_values"]["messages"]] == ["hi", "bye"]


async def test_writes_that_come_before_their_checkpoint_are_stored_with_it(saver, inner):
    made = checkpoint(messages=[HumanMessage("hi")], **{"branch:to:a": None})
    await saver.aput_writes(at(made["id"]), [("locale", "vi")], TASK)
    assert inner.writes == {}
    await saver.aput(at(), made, {"source": "loop"}, {})
    assert (await in_rows(inner, made)).pending_writes == [(TASK, "locale", "vi")]


async def test_writes_of_a_checkpoint_in_ram_are_not_stored(saver, inner):
    start = checkpoint(**{"branch:to:a": None})
    middle = checkpoint(request="raw", **{"branch:to:b": None})
    await saver.aput(at(), start, {"source": "input"}, {})
    await saver.aput(at(start["id"]), middle, {"source": "loop"}, {})
    await saver.aput_writes(at(middle["id"]), [("locale", "vi")], TASK)
    assert inner.writes == {}
    assert (await saver.aget_tuple(at())).pending_writes == [(TASK, "locale", "vi")]


@pytest.mark.parametrize("question_first", [False, True])
async def test_a_question_leaves_an_inert_stub_in_whichever_order_it_comes(saver, inner, question_first):
    start = checkpoint(messages=[HumanMessage("hi")], **{"branch:to:a": None})
    paused = checkpoint(messages=[HumanMessage("hi"), AIMessage("plan")], request="raw", **{"branch:to:b": None})
    paused["channel_versions"]["messages"] = f"{9:032}.5"
    await saver.aput(at(), start, {"source": "loop"}, {})
    question = (at(paused["id"]), [("__interrupt__", (Interrupt("raw", id="7"),))], TASK)
    if question_first:
        await saver.aput_writes(*question)
    await saver.aput(at(start["id"]), paused, {"source": "loop"}, {})
    if not question_first:
        await saver.aput_writes(*question)
    stub = await in_rows(inner, paused)
    assert [m.text for m in stub.checkpoint["channel_values"].pop("messages")] == ["hi", "plan"]
    assert stub.checkpoint["channel_values"] == {}
    assert stub.pending_writes == [(TASK, "__interrupt__", [Interrupt("[redacted]", id="7")])]
    whole = await saver.aget_tuple(at())
    assert whole.checkpoint["channel_values"]["request"] == "raw"
    assert whole.pending_writes[0][2][0].value == "raw"


async def test_a_failure_of_the_durable_tier_loses_nothing_of_an_open_turn(policy):
    inner = Failing(broken=True)
    saver = RedactingSaver(inner, policy=policy)
    made = checkpoint(messages=[HumanMessage("hi")], **{"branch:to:a": None})
    with pytest.raises(ConnectionError):
        await saver.aput(at(), made, {"source": "loop"}, {})
    assert (await saver.aget_tuple(at())).checkpoint["id"] == made["id"]
    inner.health["broken"] = False
    end = checkpoint(messages=[HumanMessage("hi"), AIMessage("bye")])
    await saver.aput(at(made["id"]), end, {"source": "loop"}, {})
    assert (await in_rows(inner, end)).parent_config is None


@pytest.mark.parametrize("error", [ConnectionError, asyncio.CancelledError])
async def test_the_end_of_a_turn_that_could_not_be_stored_is_stored_with_the_next_one(policy, error):
    inner = Failing(broken=False)
    inner.error = error
    saver = RedactingSaver(inner, policy=policy)
    start = checkpoint(messages=[HumanMessage("hi")], request="raw", **{"branch:to:a": None})
    await saver.aput(at(), start, {"source": "loop"}, {})
    inner.health["broken"] = True
    said = [HumanMessage("hi"), AIMessage("bye")]
    end = checkpoint(messages=said, request="raw")
    with pytest.raises(error):
        await saver.aput(at(start["id"]), end, {"source": "loop"}, {})
    assert (await saver.aget_tuple(at())).checkpoint["channel_values"]["request"] == "raw"
    inner.health["broken"] = False
    later = checkpoint(messages=[*said, HumanMessage("again"), AIMessage("yes")])
    await saver.aput(at(end["id"]), later, {"source": "loop"}, {})
    stored = await in_rows(inner, later)
    assert [m.text for m in stored.checkpoint["channel_values"]["messages"]] == ["hi", "bye", "again", "yes"]
    assert stored.parent_config["configurable"]["checkpoint_id"] == start["id"]


async def test_nothing_raw_is_held_once_the_turn_is_over(saver):
    start = checkpoint(messages=[HumanMessage("hi")], request="raw", **{"branch:to:a": None})
    await saver.aput(at(), start, {"source": "loop"}, {})
    end = checkpoint(messages=[HumanMessage("hi"), AIMessage("bye")], request="raw")
    await saver.aput(at(start["id"]), end, {"source": "loop"}, {})
    await saver.aput_writes(at(start["id"]), [("request", "late and raw")], TASK)
    with saver._scratch.reading("1") as thread:
        assert thread.size() == 0


async def test_the_allowlist_is_forwarded_and_the_open_turn_shared(saver):
    made = checkpoint(request="raw", **{"branch:to:a": None})
    await saver.aput(at(), made, {"source": "loop"}, {})
    other = saver.with_allowlist([("some", "Type")])
    assert (await other.aget_tuple(at())).checkpoint["channel_values"]["request"] == "raw"
