"""Rounds that were forgotten are left out of conversations."""

import asyncio
import json
from functools import partial
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from discreet.checkpoint.message_ids import safe_id
from discreet.graph import build_graph
from discreet.graph.options import Options
from discreet.graph.parts import make_parts
from discreet.nodes.forgotten import ForgottenRounds, texts_of_rounds, without
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.requests import new_request, request_id_of
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.nodes.run import Run
from discreet.nodes.sinks import SummarySink, TurnSink
from discreet.ports import ForgetRequest, RollingSummary
from discreet.providers import chat_model
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.testing import InMemoryMemories, InMemoryRollingSummaries, ScriptedChatModel

RUN = Run(user_id="ann", thread_id="a", context=Context())
TALK = [
    HumanMessage("one", id="h1"),
    AIMessage("1", id="a1"),
    HumanMessage("two", id="h2"),
    AIMessage("", id="c2", tool_calls=[{"name": "look", "args": {}, "id": "x"}]),
    ToolMessage("seen", tool_call_id="x", id="t2"),
    AIMessage("2", id="a2"),
    HumanMessage("three", id="h3"),
    AIMessage("3", id="a3"),
    HumanMessage("now", id="h4"),
]


def marked(*ids, run=RUN):
    return frozenset(request_id_of(run.user_id, run.thread_id, message_id) for message_id in ids)


class Marks(InMemoryMemories):
    """Memories with marks; told to, they fail or hang."""

    def __init__(self, marks):
        super().__init__()
        self.marks = marks
        self.error = None

    async def forgotten(self, user_id, thread_id):
        if self.error is not None:
            raise self.error
        return self.marks


def ids(messages):
    return [message.id for message in messages]


def test_a_request_has_the_same_id_whenever_it_is_asked_for():
    (one,) = marked("h1")
    assert UUID(one)
    assert new_request(TALK[0], RUN)["request_id"] == one
    (stored,) = marked(safe_id("h1"))
    assert stored == one  # as it comes back from a checkpointer that maps ids
    others = [
        Run(user_id="bob", thread_id="a", context=Context()),
        Run(user_id="ann", thread_id="b", context=Context()),
    ]
    assert len({one, *marked("h2"), *(request_id_of(other.user_id, other.thread_id, "h1") for other in others)}) == 4


@pytest.mark.parametrize(("thread_id", "message_id"), [(None, "h1"), ("a", None)])
def test_without_a_thread_or_an_id_it_is_random(thread_id, message_id):
    run = Run(user_id="ann", thread_id=thread_id, context=Context())
    assert request_id_of(run.user_id, run.thread_id, message_id) != request_id_of(
        run.user_id, run.thread_id, message_id
    )


def test_a_round_goes_whole_and_the_others_stay():
    left = without(TALK, marked("h2"), partial(request_id_of, "ann", "a"))
    assert ids(left) == ["h1", "a1", "h3", "a3", "h4"]
    told = [SystemMessage("be brief", id="s"), *TALK]
    assert ids(without(told, marked("h1"), partial(request_id_of, "ann", "a")))[:2] == ["s", "h2"]


async def test_the_running_turn_is_told_until_it_has_ended():
    forgotten = ForgottenRounds(Marks(marked("h1", "h4")))
    assert ids(await forgotten.left_out(RUN, TALK))[-1] == "h4"
    assert ids(await forgotten.left_out(RUN, [*TALK, AIMessage("4", id="a4")], ended="h4"))[-1] == "a3"


async def test_at_the_end_of_a_turn_they_are_read_again_only_if_it_had_something_forgotten():
    memories = Marks(marked("h1"))
    forgotten = ForgottenRounds(memories)
    await forgotten.left_out(RUN, TALK)
    memories.marks = marked("h1", "h3")
    assert ids(await forgotten.left_out(RUN, TALK, ended="h4"))[0] == "h2"
    assert "h3" in ids(await forgotten.left_out(RUN, TALK, ended="h4"))
    forgotten.changed("ann")
    assert "h3" not in ids(await forgotten.left_out(RUN, TALK, ended="h4"))
    memories.marks = marked("h2")
    assert "h2" not in ids(await forgotten.left_out(RUN, TALK, ended="h5"))  # another turn


async def test_what_was_read_for_a_turn_is_not_read_again_for_its_prompt():
    memories = Marks(frozenset())
    memories.error = ConnectionError()
    forgotten = ForgottenRounds(memories)
    forgotten.note("ann", "a", "h4", marked("h2"))
    assert ids(await forgotten.left_out(RUN, TALK)) == ["h1", "a1", "h3", "a3", "h4"]


async def test_a_round_known_by_its_request_id_goes_too():
    """Rounds of an outage come from the short-term store, which has no ids of messages."""
    talk = [HumanMessage("one", id=next(iter(marked("h1")))), AIMessage("1", id="new"), TALK[-1]]
    assert ids(await ForgottenRounds(Marks(marked("h1"))).left_out(RUN, talk)) == ["h4"]


@pytest.mark.parametrize("error", [ConnectionError(), TimeoutError()])
async def test_while_memories_cannot_be_asked_what_was_read_last_holds(error, caplog):
    memories = Marks(marked("h1"))
    forgotten = ForgottenRounds(memories)
    await forgotten.left_out(RUN, TALK)
    memories.error = error
    assert ids(await forgotten.left_out(RUN, [*TALK, HumanMessage("five", id="h5")]))[0] == "h2"
    assert "forgotten_unread" in caplog.text


async def test_where_nothing_was_read_yet_only_the_running_turn_is_told():
    memories = Marks(marked("h1"))
    memories.error = ConnectionError()
    assert ids(await ForgottenRounds(memories).left_out(RUN, TALK)) == ["h4"]


async def test_a_store_that_hangs_holds_no_prompt_up(monkeypatch):
    class Hanging(InMemoryMemories):
        async def forgotten(self, user_id, thread_id):
            await asyncio.sleep(60)

    monkeypatch.setattr("discreet.nodes.forgotten.READ_SECONDS", 0.01)  # nobody waits for longer
    assert ids(await ForgottenRounds(Hanging()).left_out(RUN, TALK)) == ["h4"]


async def test_without_a_user_nothing_is_left_out():
    run = Run(user_id=None, thread_id="a", context=Context())
    assert await ForgottenRounds(Marks(marked("h1", run=run))).left_out(run, TALK) == TALK


def test_what_was_said_in_earlier_rounds_is_known_by_request():
    texts = texts_of_rounds(RUN, [HumanMessage("mail <EMAIL:I77NUSRH>", id="h0"), AIMessage("ok", id="a0"), *TALK])
    assert list(texts.values()) == ["mail <EMAIL>\nok", "one\n1", "two\n\nseen\n2", "three\n3"]
    assert list(texts)[1:] == [request_id_of("ann", "a", each) for each in ("h1", "h2", "h3")]


def test_a_greeting_is_known_with_the_first_round_and_goes_with_it():
    greeting = [SystemMessage("Be kind.", id="s"), AIMessage("Welcome back! You are allergic to nuts.", id="g")]
    request_of = partial(request_id_of, RUN.user_id, RUN.thread_id)
    texts = texts_of_rounds(RUN, [*greeting, *TALK])
    assert texts[request_of("h1")] == "Welcome back! You are allergic to nuts.\none\n1"
    assert "nuts" not in texts[request_of("h2")]
    assert ids(without([*greeting, *TALK], marked("h1"), request_of))[:2] == ["s", "h2"]
    assert ids(without([*greeting, *TALK], marked("h2"), request_of))[:3] == ["s", "g", "h1"]


async def test_neither_summary_nor_turns_are_made_of_it(run_node):
    memories, summaries = InMemoryMemories(), InMemoryRollingSummaries()

    class Quotes:
        async def summarize(self, rounds, *, earlier="", max_tokens=200):
            return " ".join(each.said for each in rounds)

    talk = [m for n in range(7) for m in (HumanMessage(f"boat {n}", id=f"h{n}"), AIMessage("Noted.", id=f"a{n}"))]
    (record,) = await memories.save("ann", [MemoryRecord(text="Parrots")])
    run = Run(user_id="ann", thread_id="thread-1", context=Context())
    rounds = {request_id_of(run.user_id, run.thread_id, "h2"): "parrots"}
    asking = ForgetRequest(
        thread_id="thread-1", request_id=request_id_of(run.user_id, run.thread_id, "h6"), rounds=rounds
    )
    await memories.forget("ann", record.entry_id, asking=asking)
    summariser = RollingSummariser(summaries, Quotes(), background=False)
    sinks = [SummarySink(summariser, ForgottenRounds(memories)), TurnSink(memories)]
    await run_node(make_persist_filtered(sinks=sinks), {"messages": talk}, user_id="ann")
    await summariser.drain()
    assert (await summaries.get("ann", "thread-1")).text == "boat 0 boat 1 boat 3 boat 4 boat 5"
    assert await memories.latest("ann") == []


async def forget_meanwhile(options, begun, go_on):
    """Forget a boat while a summary of five rounds about boats is held up between `begun` and `go_on`."""
    summariser = make_parts(options, lambda: chat_model("offline")).prompting.summariser
    talk = [
        m for n in range(5) for m in (HumanMessage(f"I own boat {n}.", id=f"h{n}"), AIMessage("Noted.", id=f"a{n}"))
    ]
    (record,) = await options.memories.save("ann", [MemoryRecord(text="Owns boat 3")])
    await summariser.after_turn("ann", "a", talk[:4])  # from the second turn on, an event loop is one that lives on
    await summariser.after_turn("ann", "a", talk)
    async with asyncio.timeout(30):
        await begun.wait()
    rounds = {request_id_of("ann", "a", "h3"): "I own boat 3."}
    await options.memories.forget("ann", record.entry_id, asking=ForgetRequest(thread_id="a", rounds=rounds))
    go_on.set()
    await summariser.drain()
    assert await options.summaries.get("ann", "a") == RollingSummary()
    assert await options.memories.latest("ann") == []


async def test_a_summary_that_was_being_made_of_it_is_not_kept():
    begun, go_on = asyncio.Event(), asyncio.Event()

    class Slow:
        async def summarize(self, rounds, *, earlier="", max_tokens=200):
            begun.set()
            await go_on.wait()
            return " ".join(each.said for each in rounds)

    options = Options(memories=InMemoryMemories(), summaries=InMemoryRollingSummaries(), summary_provider=Slow())
    await forget_meanwhile(options, begun, go_on)


async def test_the_memory_of_a_summary_that_is_saved_after_the_forgetting_is_taken_back():
    saving, go_on = asyncio.Event(), asyncio.Event()

    class Remote(InMemoryMemories):
        async def save(self, user_id, records, **given):
            if any(record.type == "conversation_summary" for record in records):
                saving.set()
                await go_on.wait()
            return await super().save(user_id, records, **given)

    options = Options(memories=Remote(), summaries=InMemoryRollingSummaries())
    await forget_meanwhile(options, saving, go_on)


@pytest.mark.slow
async def test_rounds_with_the_value_that_was_forgotten_go_by_their_tag():
    said = (
        "My e-mail is ann.lee@example.com.",
        "Write to ann.lee@example.com",
        "Write to bob@example.com",
        "Forget it",
    )
    fact = "The user's e-mail is <EMAIL>"
    model = ScriptedChatModel(
        responses=[
            call("save_memory", text=fact),
            *[AIMessage("Okay.")] * 3,
            call("recall_memory", query="e-mail"),
            lambda prompt: call("forget_memory", entry_id=json.loads(prompt[-1].text)["memories"][0]["entry_id"]),
            *[AIMessage("Okay.")] * 2,
        ]
    )
    graph = build_graph(chat_model=model, memories=InMemoryMemories()).compile(checkpointer=InMemorySaver())
    for text in (*said, "Hi."):
        await graph.ainvoke(
            {"messages": [("user", text)]}, {"configurable": {"thread_id": "1"}}, context=Context(user_id="ann")
        )
    assert [m.text for m in model.prompts[-1][1:]] == ["Write to bob@example.com", "Okay.", "Hi."]


def call(name, **args):
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}])
