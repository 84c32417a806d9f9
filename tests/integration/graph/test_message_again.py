"""A message that comes again under its id: the same text gets what it got, at any time; another text changes nothing."""

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.savers import database_of, opened_saver

from discreet.errors import InputTooLargeError, MessageIdReusedError
from discreet.graph import TurnRunner, build_graph
from discreet.graph.guard import guarded
from discreet.graph.middleware import MemoryMiddleware
from discreet.redaction import InMemoryTurnVault
from discreet.state.context import Context
from discreet.testing import InMemoryConversationLog, InMemoryMemories, ScriptedChatModel

THREAD = {"configurable": {"thread_id": "1", "user_id": "ann"}}
ANN = Context(user_id="ann")
TEXTS = {
    "en": ("I am planted.name@example.com, remember me.", "I am planted.other@example.com, remember me."),
    "vi": ("Tôi là planted.name@example.com, hãy nhớ tôi.", "Tôi là planted.name@example.com, hãy quên tôi."),
    "ru": ("Мой телефон +7 916 123-45-67, запомни.", "Мой телефон +7 916 123-45-68, запомни."),
    "zh": ("我的邮箱是 planted.name@example.com。", "我的邮箱是 planted.other@example.com。"),
}
SAVERS = ["memory", "redacting", "postgres", "redacting_postgres"]


@pytest.fixture(params=SAVERS)
async def saver(request):
    async with opened_saver(request.param, database_of(request.param, request)) as saver:
        yield saver


class House:
    """A graph that answers, and what becomes of its turns."""

    def __init__(self, saver, kind="template", *, tools=(), answers=()):
        self.model = ScriptedChatModel(responses=answers or [AIMessage(f"Answer {number}.") for number in range(4)])
        self.log, self.memories = InMemoryConversationLog(), InMemoryMemories()
        self.vault, self.kind, self.tools = InMemoryTurnVault(), kind, tools
        self.open(saver)

    def open(self, saver):
        """Do what a process does at its start."""
        memory = {"log": self.log, "memories": self.memories, "vault": self.vault}
        if self.kind == "own":
            builder = StateGraph(MessagesState)
            builder.add_node("model", lambda state: {"messages": [self.model.invoke(state["messages"])]})
            builder.add_edge(START, "model")
            graph = guarded(builder.compile(checkpointer=saver), vault=self.vault)
        elif self.kind.startswith("agent"):
            graph = create_agent(
                self.model,
                self.tools,
                middleware=[MemoryMiddleware(**memory)],
                checkpointer=saver,
                context_schema=Context,
            )
        else:
            graph = build_graph(chat_model=self.model, tools=self.tools, **memory).compile(checkpointer=saver)
        self.graph = TurnRunner(graph) if self.kind.endswith("runner") else graph

    async def say(self, given, message_id="m1", **options):
        said = given if isinstance(given, Command) else {"messages": [HumanMessage(given, id=message_id)]}
        return await self.graph.ainvoke(said, THREAD, context=ANN, **options)

    async def state(self):
        """Return all that the thread shows."""
        state = await self.graph.aget_state(THREAD)
        return state.values, state.next, state.interrupts, state.config


def texts(values):
    return [message.text for message in values["messages"]]


KINDS = ["template", "runner", "agent runner", "own"]


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
async def test_the_same_message_gets_the_stored_answer(saver, kind, language):
    house, (text, _) = House(saver, kind), TEXTS[language]
    first = await house.say(text)
    before = await house.state()
    again = await house.say(text)
    assert texts(again)[-1] == texts(first)[-1] == "Answer 0."
    assert len(again["messages"]) == 2
    assert (await house.state())[0]["messages"] == before[0]["messages"]
    assert len(house.model.prompts) == 1
    assert len(house.log.turns) == (kind != "own")
    await house.say("Something else.", "m2")
    assert len(house.model.prompts) == 2


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
async def test_another_text_under_its_id_is_refused_and_changes_nothing(saver, kind, language):
    house, (text, other) = House(saver, kind), TEXTS[language]
    await house.say(text)
    before = await house.state()
    with pytest.raises(MessageIdReusedError):
        await house.say(other)
    after = await house.state()
    assert after[0]["messages"] == before[0]["messages"]
    if kind != "agent":  # which learns of it once LangGraph has written it
        assert after == before
    assert texts(await house.say("Something else.", "m2"))[-1] == "Answer 1."
    assert texts({"messages": house.model.prompts[-1]})[-3:-1] in ([text, "Answer 0."], texts(before[0]))
    assert len(house.log.turns) == (0 if kind == "own" else 2)


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_known_when_other_turns_have_come_since(saver, kind):
    house = House(saver, kind)
    for number in range(3):
        await house.say(f"Question {number}.", f"m{number}")
    before = await house.state()
    again = await house.say("Question 1.", "m1")
    if kind != "agent":
        assert texts(again) == ["Question 0.", "Answer 0.", "Question 1.", "Answer 1."]
        assert again["messages"][-1].response_metadata["delivery"] == "repeated"
    assert (await house.state())[0]["messages"] == before[0]["messages"]
    with pytest.raises(MessageIdReusedError):
        await house.say("Question 2.", "m1")
    assert (await house.state())[0]["messages"] == before[0]["messages"]
    assert len(house.model.prompts) == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_another_process_knows_it(database, kind):
    async with opened_saver("redacting_postgres", database) as saver:
        house = House(saver, kind)
        await house.say(TEXTS["en"][0])
        await house.say("And now?", "m2")
    async with opened_saver("redacting_postgres", database) as saver:
        house.vault = InMemoryTurnVault()
        house.open(saver)
        assert "Answer 0." in texts(await house.say(TEXTS["en"][0]))
        with pytest.raises(MessageIdReusedError):
            await house.say(TEXTS["en"][1])
        assert "Answer 1." in texts(await house.say("And now?", "m2"))
    assert len(house.model.prompts) == 2


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("kind", ["template", "runner", "agent runner"])
async def test_a_turn_that_waits_for_a_person_asks_again(saver, kind, durability):
    bought = []

    @tool
    def buy(thing: str) -> str:
        """Buy something."""
        bought.append((thing, interrupt("May I?")))
        return "done"

    call = AIMessage("", tool_calls=[{"name": "buy", "args": {"thing": "tea"}, "id": "c1"}])
    house = House(saver, kind, tools=[buy], answers=[call, AIMessage("Bought.")])
    asked = await house.say("Buy tea.", durability=durability)
    before = await house.state()
    again = await house.say("Buy tea.", durability=durability)
    assert (
        [each.value for each in again["__interrupt__"]] == [each.value for each in asked["__interrupt__"]] == ["May I?"]
    )
    with pytest.raises(MessageIdReusedError):
        await house.say("Buy coffee.", durability=durability)
    assert await house.state() == before
    done = await house.say(Command(resume="yes"), durability=durability)
    assert texts(done)[-1] == "Bought."
    assert bought == [("tea", "yes")]
    assert texts(await house.say("Buy tea.", durability=durability))[-1] == "Bought."
    assert len(bought) == 1
    assert len(house.model.prompts) == 2


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_that_failed_before_its_answer_runs_again(saver, kind):
    house = House(saver, kind, answers=[OSError("down"), AIMessage("Up again.")])
    with pytest.raises(Exception, match=r"down|OSError"):
        await house.say("Hello.")
    assert texts(await house.say("Hello.")) == ["Hello.", "Up again."]
    assert texts(await house.say("Hello.")) == ["Hello.", "Up again."]


@pytest.mark.fast_cases(2)
async def test_a_message_that_was_refused_may_be_sent_again_shorter(saver):
    house = House(saver)
    with pytest.raises(InputTooLargeError):
        await house.say("planted " * 4_000)
    assert texts(await house.say("planted")) == ["planted", "Answer 0."]


async def test_an_answer_whose_turn_was_broken_off_behind_it_is_not_made_again():
    """As by a kill between the answer and the end of the turn."""
    saver, house = InMemorySaver(), None
    house = House(saver)
    house.log.down = True
    graph = house.graph.copy({"interrupt_before_nodes": ["persist_filtered"]})
    await graph.ainvoke({"messages": [HumanMessage("Hello.", id="m1")]}, THREAD, context=ANN)
    assert len(house.log.turns) == 0
    house.log.down = False
    assert texts(await house.say("Hello.")) == ["Hello.", "Answer 0."]
    assert (len(house.log.turns), len(house.model.prompts)) == (1, 1)
    assert (await house.state())[1] == ()


@pytest.mark.parametrize("mode", ["values", "updates", "messages"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_each_mode_of_a_stream_has_the_answer(mode, version):
    house = House(InMemorySaver())
    said = {"messages": [HumanMessage("Hello.", id="m1")]}
    house.graph.invoke(said, THREAD, context=ANN)
    events = list(house.graph.stream(said, THREAD, context=ANN, stream_mode=mode, version=version))
    assert len(events) == 1
    assert "Answer 0." in repr(events)


async def test_a_fork_is_a_turn_of_its_own():
    house = House(InMemorySaver())
    await house.say("One.", "m1")
    before = (await house.graph.aget_state(THREAD)).config
    await house.say("Two.", "m2")
    said = {"messages": [HumanMessage("Two, in other words.", id="m2")]}
    values = await house.graph.ainvoke(said, before, context=ANN)
    assert texts(values)[-2:] == ["Two, in other words.", "Answer 2."]


async def test_callback_events_tell_of_the_answer():
    """What AG-UI and others stream is made of these."""
    house = House(InMemorySaver())
    said = {"messages": [HumanMessage("Hello.", id="m1")]}
    await house.say("Hello.")
    events = [event async for event in house.graph.astream_events(said, THREAD, context=ANN, version="v2")]
    assert [event["event"] for event in events] == ["on_chain_start", "on_chain_stream", "on_chain_end"]
    assert "Answer 0." in repr(events[1]["data"])
    assert len(house.model.prompts) == 1


async def test_of_a_message_with_media_the_words_beside_them_tell():
    house = House(InMemorySaver())
    pixels = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png", "caption": "A kettle boils."}

    async def show(*blocks):
        said = {"messages": [HumanMessage(list(blocks), id="m1")]}
        return texts(await house.graph.ainvoke(said, THREAD, context=ANN))

    words = {"type": "text", "text": "What is [this]\n[here], ann.nguyen@example.com?"}
    first = await show(words, pixels)
    assert await show(words, pixels) == first
    with pytest.raises(MessageIdReusedError):
        await show({"type": "text", "text": "Where is it?"}, pixels)
    assert len(house.model.prompts) == 1
