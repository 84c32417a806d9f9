import asyncio
import json
from itertools import chain
from typing import Annotated, TypedDict
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

from discreet.background_loop import wait_for
from discreet.errors import (
    ProviderError,
    ReadOnlyServerError,
    ServerRestartingError,
    StorageBusyError,
    StorageUnavailableError,
)
from discreet.nodes.requests import request_id_of
from discreet.nodes.tools import MemoryForget, MemoryRecall, MemorySave, MemoryUpdate, make_tools, memory_tool
from discreet.ports import FixedSettings
from discreet.state.context import Context
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord, Provenance
from discreet.testing import InMemoryMemories


@pytest.fixture
def memories():
    return InMemoryMemories()


@pytest.fixture
def call(run_node, memories):
    """Return `await call(name, args, …)`: the tool's message, as the assistant gets it."""
    writing = [kind(memories=memories, again_seconds=1.0) for kind in (MemorySave, MemoryUpdate)]
    node = make_tools([*writing, *(kind(memories=memories) for kind in (MemoryRecall, MemoryForget))])

    async def call(name, arguments, *, before=(), said="I keep two parrots", **context):
        request = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])
        state = await run_node(node, {"messages": [HumanMessage(said), *before, request]}, **context)
        return state["messages"][-1]

    return call


async def test_what_is_saved_is_found_by_the_same_user_only(call):
    saved = await call("save_memory", {"text": "Keeps two parrots", "tags": ["pets"]}, user_id="ann")
    assert json.loads(saved.content)["saved"] is True
    found = json.loads((await call("recall_memory", {"query": "parrots"}, user_id="ann")).content)["memories"]
    assert [m["text"] for m in found] == ["Keeps two parrots"]
    other = json.loads((await call("recall_memory", {"query": "parrots"}, user_id="bob")).content)
    assert other == {"memories": []}


@pytest.mark.parametrize(
    "asked",
    [
        ("save_memory", {"text": "Keeps two parrots"}, "save"),
        ("recall_memory", {"query": "parrots"}, "search"),
        ("update_memory", {"entry_id": str(uuid4()), "text": "Keeps two parrots"}, "get"),
        ("forget_memory", {"text": "parrots"}, "forget"),
    ],
)
async def test_memories_that_hang_cost_the_call_and_not_the_turn(call, memories, monkeypatch, asked):
    name, arguments, hangs = asked

    async def hang(*args, **options):
        await asyncio.sleep(60)

    monkeypatch.setattr(memory_tool, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(memories, hangs, hang)
    error = json.loads((await call(name, arguments, user_id="ann")).content)["error"]
    assert (error["code"], error["retryable"]) == ("storage_unavailable", True)


class Away(InMemoryMemories):
    """Memories whose database is away for some calls."""

    def __init__(self, error, times):
        super().__init__()
        self.error, self.times, self.calls = error, times, 0

    async def save(self, user_id, records, *, dedup=True):
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return await super().save(user_id, records, dedup=dedup)

    async def search(self, *args, **options):
        raise self.error


@pytest.mark.parametrize("memories", [Away(ServerRestartingError(), 2), Away(StorageUnavailableError(), 1)])
async def test_a_save_is_tried_again_while_the_database_is_away(call, memories):
    saved = json.loads((await call("save_memory", {"text": "Keeps two parrots"}, user_id="ann")).content)
    assert saved["saved"] is True
    assert [record.text for record in await memories.latest("ann")] == ["Keeps two parrots"]


@pytest.mark.parametrize("memories", [Away(ReadOnlyServerError(), 9)])
async def test_a_save_that_nothing_can_mend_is_tried_once(call, memories):
    await call("save_memory", {"text": "Keeps two parrots"}, user_id="ann")
    assert memories.calls == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I keep two parrots", "My memory can't be reached right now"),
        ("Tôi nuôi hai con vẹt", "chưa truy cập được bộ nhớ"),
        ("У меня два попугая", "память сейчас недоступна"),
        ("我养了两只鹦鹉", "暂时无法使用记忆"),
    ],
)
@pytest.mark.parametrize(
    "error", [StorageUnavailableError(), ReadOnlyServerError(), StorageBusyError(3), ProviderError()]
)
async def test_an_outage_is_a_sentence_for_the_user_and_advice_for_the_log(run_node, error, said, told, caplog):
    memories = Away(error, 99)
    node = make_tools([MemorySave(memories=memories, again_seconds=0), MemoryRecall(memories=memories)])
    for name, arguments in (("save_memory", {"text": said}), ("recall_memory", {"query": said})):
        request = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])
        state = await run_node(node, {"messages": [HumanMessage(said), request]}, user_id="ann")
        failed = json.loads(state["messages"][-1].content)["error"]
        assert told in failed["message"]
        assert failed["code"] == error.code
        assert "DISCREET" not in failed["message"]
    assert caplog.text.count(f"advice={error}") == 2


async def test_a_record_tells_where_it_comes_from(call, memories):
    await call("save_memory", {"text": "Keeps parrots"}, user_id="ann", agent_id="helper", model="offline")
    (hit,) = await memories.search("ann", "parrots")
    assert hit.record.thread_id == "thread-1"
    assert (hit.record.agent_id, hit.record.provenance.source, hit.record.provenance.model) == (
        "helper",
        "save_memory",
        "offline",
    )


async def test_forgetting_takes_the_users_own_record_only(call, memories):
    (record,) = await memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    arguments = {"entry_id": str(record.entry_id)}
    assert json.loads((await call("forget_memory", arguments, user_id="bob")).content)["deleted"] is False
    assert json.loads((await call("forget_memory", arguments, user_id="ann")).content)["deleted"] is True
    assert await memories.search("ann", "parrots") == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save_memory", {"text": "x"}),
        ("recall_memory", {"query": "x"}),
        ("update_memory", {"entry_id": str(uuid4()), "text": "x"}),
        ("forget_memory", {"entry_id": str(uuid4())}),
    ],
)
async def test_without_a_user_the_tools_decline(call, name, arguments):
    message = await call(name, arguments)
    assert message.status == "error"
    assert "names no user_id" in message.content


async def test_the_result_lists_what_went_without_its_text(call, memories):
    said = {"thread_id": "other", "request_id": "r1", "provenance": Provenance(source="save_memory")}
    given = [MemoryRecord(text=text, **said) for text in ("Keeps parrots", "Owns a boat")]
    parrots, boat = await memories.save("ann", given)
    before = [HumanMessage("Parrots eat seeds?", id="h1"), AIMessage("They do.", id="a1"), HumanMessage("Forget it")]
    message = await call("forget_memory", {"entry_id": str(parrots.entry_id)}, before=before, user_id="ann")
    assert json.loads(message.content) == {
        "deleted": True,
        "entry_id": str(parrots.entry_id),
        "also": [{"entry_id": str(boat.entry_id), "type": "user_fact"}],
        "rounds": 3,
        "summaries": 0,
        "still": [],
    }
    assert await memories.latest("ann") == []


async def test_what_was_never_kept_is_forgotten_by_its_words(call, memories):
    before = [
        AIMessage("How nice."),
        HumanMessage("May I eat nuts while I am pregnant?", id="h1"),
        AIMessage("Yes.", id="a1"),
    ]
    before += [HumanMessage("Hello", id="h2"), AIMessage("Hi.", id="a2"), HumanMessage("Forget that", id="h3")]
    message = await call("forget_memory", {"text": "I am pregnant"}, before=before, user_id="ann")
    assert json.loads(message.content) == {"deleted": True, "also": [], "rounds": 1, "summaries": 0, "still": []}
    marked = {request_id_of("ann", "thread-1", each) for each in ("h1", "h3")}
    assert await memories.forgotten("ann", "thread-1") == marked
    other = await call("forget_memory", {"text": "I keep a boat"}, before=before, user_id="ann")
    assert json.loads(other.content)["deleted"] is False


@pytest.mark.parametrize("arguments", [{}, {"text": " "}, {"entry_id": str(uuid4()), "text": "I am pregnant"}])
async def test_one_thing_is_forgotten_at_a_time(call, memories, arguments):
    message = await call("forget_memory", arguments, user_id="ann")
    assert message.status == "error"
    error = json.loads(message.content)["error"]
    assert error["code"] == "forget_unclear"
    assert "Give either entry_id" in error["message"]
    assert await memories.forgotten("ann", "thread-1") == frozenset()


async def test_the_value_named_in_a_text_is_known_by_its_tag(call, memories):
    mine, other = "ann.lee@example.com", "bob@example.com"
    talk = [(HumanMessage(f"Write to {mail}", id=f"h{n}"), AIMessage("Ok.")) for n, mail in enumerate((mine, other))]
    before = [AIMessage("How nice."), *chain.from_iterable(talk), HumanMessage("Forget the first of them", id="h9")]
    arguments = {"text": f"That it is {mine}"}
    assert json.loads((await call("forget_memory", arguments, before=before, user_id="ann")).content)["rounds"] == 1
    assert request_id_of("ann", "thread-1", "h0") in await memories.forgotten("ann", "thread-1")


async def test_other_memories_that_tell_it_are_named_if_this_application_may_know_them(call, memories):
    (mine,) = await memories.save("ann", [MemoryRecord(text="Is pregnant")])
    (twins,) = await memories.save("ann", [MemoryRecord(text="Pregnant with twins. " + "So happy! " * 9)])
    await memories.save("ann", [MemoryRecord(text="Her pregnancy is private", app_name="clinic")])
    await memories.save("ann", [MemoryRecord(text="Plays chess")])
    message = await call("forget_memory", {"entry_id": str(mine.entry_id)}, user_id="ann", said="Forget it")
    told = "Pregnant with twins. So happy! So happy! So happy! So happy…"
    assert json.loads(message.content)["still"] == [{"entry_id": str(twins.entry_id), "text": told}]


@pytest.mark.slow
async def test_ten_memories_are_named_however_much_is_left(call, memories):
    said = {"thread_id": "other", "request_id": "r1", "provenance": Provenance(source="save_memory")}
    mine, *_ = await memories.save("ann", [MemoryRecord(text=f"Parrot {n} is green", **said) for n in range(15)])
    given = [MemoryRecord(text=f"Parrot {n} is blue and likes nuts of all kinds, as they all do") for n in range(15)]
    await memories.save("ann", given)
    message = await call("forget_memory", {"entry_id": str(mine.entry_id)}, user_id="ann", said="Forget it")
    result = json.loads(message.content)
    assert (len(result["still"]), result["more"]) == (10, 5)


async def test_a_memory_is_corrected_in_its_place(call, memories):
    (wrong,) = await memories.save("ann", [MemoryRecord(text="Lives in Hanoi", importance=9, request_id="r1")])
    arguments = {"entry_id": str(wrong.entry_id), "text": "Lives in Hue"}
    said = "No, I live in Hue"
    other = json.loads((await call("update_memory", arguments, said=said, user_id="bob")).content)
    assert other == {"updated": False, "entry_id": str(wrong.entry_id)}
    done = json.loads((await call("update_memory", arguments, said=said, user_id="ann")).content)
    assert (done["updated"], done["text"]) == (True, "Lives in Hue")
    (right,) = await memories.latest("ann", held=False)
    assert (right.entry_id, right.text, right.importance, right.request_id) == (wrong.entry_id, "Lives in Hue", 9, "r1")
    assert right.valid_from == wrong.created_at < right.created_at


@pytest.mark.parametrize("text", ["My key is sk-" + "a1B2" * 12, "Balance of the account: 1,204 euros", " "])
async def test_what_may_not_be_saved_may_not_correct(call, memories, text):
    (record,) = await memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    result = ToolMessage("Balance of the account: 1,204 euros", tool_call_id="c0", name="bank")
    arguments = {"entry_id": str(record.entry_id), "text": text}
    assert (await call("update_memory", arguments, before=[result], said="Go", user_id="ann")).status == "error"
    assert [each.text for each in await memories.latest("ann")] == ["Keeps parrots"]


async def test_what_was_made_of_a_conversation_is_not_corrected(call, memories):
    (past,) = await memories.save("ann", [MemoryRecord(text="They spoke of boats", type="conversation_summary")])
    arguments = {"entry_id": str(past.entry_id), "text": "They spoke of cars"}
    assert not json.loads((await call("update_memory", arguments, user_id="ann")).content)["updated"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save_memory", {"text": ""}),
        ("update_memory", {"entry_id": str(uuid4()), "text": ""}),
        ("save_memory", {"text": "x", "type": "turn"}),
        ("save_memory", {"text": "x", "importance": 99}),
        ("recall_memory", {"query": "x", "limit": 1000}),
        ("forget_memory", {"entry_id": "not-an-id"}),
        ("save_memory", {}),
    ],
)
async def test_bad_arguments_come_back_to_the_model_as_an_error(call, memories, name, arguments):
    assert (await call(name, arguments, user_id="ann")).status == "error"


async def test_a_user_named_by_the_model_is_ignored(call, memories):
    await call("save_memory", {"text": "Keeps parrots", "user_id": "bob"}, user_id="ann")
    assert await memories.search("bob", "parrots") == []
    assert "user_id" not in MemorySave(memories=memories).tool_call_schema.model_json_schema()["properties"]
    assert "runtime" not in MemorySave(memories=memories).tool_call_schema.model_json_schema()["properties"]


async def test_a_secret_is_refused(call, memories):
    secret = "sk-" + "a1B2" * 12
    message = await call("save_memory", {"text": f"My key is {secret}"}, user_id="ann", said=f"My key is {secret}")
    assert message.status == "error"
    assert "Secrets are never kept" in message.content
    assert secret not in message.content
    assert await memories.search("ann", "key") == []


async def test_text_copied_from_a_tools_result_is_refused(call, memories):
    result = ToolMessage("Balance of the account: 1,204 euros", tool_call_id="c0", name="bank")
    copied = {"text": "The user's balance of the account is 1,204 euros"}
    message = await call("save_memory", copied, before=[result], said="What is my balance?", user_id="ann")
    assert message.status == "error"
    assert "never kept as a memory" in message.content
    own = await call("save_memory", {"text": "Keeps two parrots"}, before=[result], user_id="ann")
    assert json.loads(own.content)["saved"]


COMPOUND = {
    "en": ("My name is Linh, I live in Hue and like tea.", ["My name is Linh", "I live in Hue", "I like tea"]),
    "vi": ("Tôi tên là Linh, sống ở Huế và thích trà.", ["Tôi tên là Linh", "Tôi sống ở Huế", "Tôi thích trà"]),
    "ru": ("Меня зовут Линь, живу в Хюэ и люблю чай.", ["Меня зовут Линь", "Я живу в Хюэ", "Я люблю чай"]),
    "zh": ("我叫小林，住在顺化，喜欢茶。", ["我叫小林", "我住在顺化", "我喜欢茶"]),
}


@pytest.mark.parametrize("language", COMPOUND)
async def test_each_statement_of_a_compound_becomes_a_memory_of_the_same_turn(call, memories, language):
    said, facts = COMPOUND[language]
    arguments = {"text": said, "type": "preference", "importance": 7, "tags": ["about me"]}
    answer = json.loads((await call("save_memory", arguments, said=said, user_id="ann")).content)
    assert [answer["text"], *(each["text"] for each in answer["also"])] == facts
    assert (answer["saved"], answer["type"]) == (True, "preference")
    kept = {str(record.entry_id): record for record in await memories.latest("ann")}
    assert kept.keys() == {answer["entry_id"], *(each["entry_id"] for each in answer["also"])}
    assert {record.created_at for record in kept.values()} == {kept[answer["entry_id"]].created_at}
    assert all(
        (record.importance, record.tags, record.provenance.source) == (7, ["about me"], "save_memory")
        for record in kept.values()
    )


async def test_the_facts_of_a_statement_carry_the_request_that_they_were_said_in(run_node, memories):
    call = {"name": "save_memory", "args": {"text": "I live in Hue and like tea."}, "id": "c1"}
    state = {"messages": [HumanMessage("…"), AIMessage("", tool_calls=[call])], "request": {"request_id": "r1"}}
    await run_node(make_tools([MemorySave(memories=memories)]), state, user_id="ann")
    assert [record.request_id for record in await memories.latest("ann")] == ["r1", "r1"]


async def test_one_fact_is_answered_as_it_always_was(call):
    answer = json.loads((await call("save_memory", {"text": "Keeps two parrots"}, user_id="ann")).content)
    assert answer.keys() == {"saved", "entry_id", "text", "type"}


async def test_what_tells_a_number_from_another_is_seen_before_a_statement_is_cut(call, memories):
    text = "My passport number follows. I have 12345678 and I like tea."
    whole = MemorySave(memories=memories).redactor.redact(text)
    await call("save_memory", {"text": text}, said=text, user_id="ann")
    kept = [record.text for record in await memories.latest("ann")]
    assert ("12345678" in whole) == any("12345678" in each for each in kept)


@pytest.mark.parametrize("tag", ["order 4711 shipped", "4711", "shipped 4711"])
async def test_a_tag_of_a_tools_result_is_refused(call, memories, tag):
    result = ToolMessage("Order 4711 shipped to Hue", tool_call_id="c0", name="orders")
    arguments = {"text": "Asked about an order", "tags": ["shopping", tag]}
    message = await call("save_memory", arguments, before=[result], said="I asked about an order", user_id="ann")
    assert (message.status, await memories.latest("ann")) == ("error", [])


async def test_what_the_user_said_in_an_earlier_round_and_confirms_is_their_own(run_node, memories):
    save = {"name": "save_memory", "args": {"text": "My flight VN 123 leaves at 10:30"}, "id": "c1"}
    messages = [
        HumanMessage("My flight VN 123 leaves at 10:30"),
        AIMessage("Shall I look it up and remember it?"),
        HumanMessage("Yes, please"),
        AIMessage("", tool_calls=[{"name": "flights", "args": {}, "id": "c0"}]),
        ToolMessage("Flight VN 123 leaves at 10:30, gate 4", tool_call_id="c0", name="flights"),
        AIMessage("", tool_calls=[save]),
    ]
    state = await run_node(make_tools([MemorySave(memories=memories)]), {"messages": messages}, user_id="ann")
    assert json.loads(state["messages"][-1].content)["saved"] is True
    summary = HumanMessage(messages[0].content, additional_kwargs={"lc_source": "summarization"})
    state = await run_node(
        make_tools([MemorySave(memories=memories)]), {"messages": [summary, *messages[1:]]}, user_id="bob"
    )
    assert "never kept as a memory" in state["messages"][-1].content


@pytest.mark.parametrize(("asked", "in_context", "limit"), [(None, None, 9), (None, 7, 7), (3, None, 3), (20, 7, 20)])
async def test_recall_follows_the_context_and_the_settings_unless_the_model_says_how_many(
    run_node, asked, in_context, limit
):
    class Recording(InMemoryMemories):
        async def search(self, user_id, query, **options):
            limits.append(options["limit"])
            return []

    limits: list[int] = []
    recall = MemoryRecall(memories=Recording(), memory_settings=FixedSettings(MemorySettings(memory_retrieve_limit=9)))
    arguments = {"query": "parrot"} | ({} if asked is None else {"limit": asked})
    call = AIMessage("", tool_calls=[{"name": "recall_memory", "args": arguments, "id": "c1"}])
    state = {"messages": [HumanMessage("…"), call]}
    await run_node(make_tools([recall]), state, user_id="ann", retrieve_limit=in_context)
    assert limits == [limit]


async def test_the_tools_serve_a_graph_with_a_state_of_its_own(run_node, memories):
    class Theirs(TypedDict):
        chat: Annotated[list[AnyMessage], add_messages]

    node = make_tools([MemorySave(memories=memories, default_user="ann")], messages_key="chat")
    request = AIMessage("", tool_calls=[{"name": "save_memory", "args": {"text": "Likes tea"}, "id": "c1"}])
    await run_node(node, {"chat": [HumanMessage("I like tea"), request]}, schema=Theirs)
    assert len(await memories.search("ann", "tea")) == 1


async def test_a_tool_that_fails_answers_with_its_error(run_node):
    @tool
    def broken() -> str:
        """Fail."""
        raise OSError("disk full")

    request = AIMessage("", tool_calls=[{"name": "broken", "args": {}, "id": "c1"}])
    state = await run_node(make_tools([broken]), {"messages": [HumanMessage("Go"), request]})
    answer = json.loads(state["messages"][-1].content)
    assert answer == {"error": {"code": "tool_failed", "message": "The tool failed: OSError.", "retryable": False}}
    assert state["messages"][-1].status == "error"


def test_the_tools_work_without_an_event_loop(memories):
    saved = MemorySave(memories=memories, default_user="ann").invoke({"text": "Keeps two parrots"})
    (found,) = MemoryRecall(memories=memories, default_user="ann").invoke({"query": "parrots"})["memories"]
    assert found["entry_id"] == saved["entry_id"]
    assert MemoryForget(memories=memories, default_user="ann").invoke({"entry_id": saved["entry_id"]})["deleted"]


def test_the_tools_know_the_user_of_a_graph_that_runs_by_invoke(memories):
    """Somebody else's graph: LangGraph's own tool node, which calls the tools in threads."""
    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("tools", ToolNode([MemorySave(memories=memories), MemoryRecall(memories=memories)]))
    graph.add_edge(START, "tools")
    call = {"name": "save_memory", "args": {"text": "Keeps two parrots"}, "id": "c1"}
    messages = [HumanMessage("I keep two parrots"), AIMessage("", tool_calls=[call])]
    state = graph.compile().invoke({"messages": messages}, context=Context(user_id="ann"))
    assert json.loads(state["messages"][-1].content)["saved"] is True
    assert [hit.record.text for hit in wait_for(memories.search("ann", "parrots"))] == ["Keeps two parrots"]


async def test_a_tool_that_is_called_by_hand_knows_no_user(memories):
    with pytest.raises(ToolException, match="names no user_id"):
        await MemoryRecall(memories=memories).ainvoke({"query": "parrots"})
