"""The template on a real PostgreSQL server."""

import base64
import secrets
from uuid import uuid4

import pytest
from kit.places import rows, text_of
from kit.search import in_rows
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from testkit.runs import runs_kept

from discreet.checkpoint import RedactingSaver
from discreet.errors import InputTooLargeError, StorageUnavailableError
from discreet.graph import build_graph
from discreet.state import message_text
from discreet.state.context import Context
from discreet.state.conversation import ConversationState
from discreet.storage import open_storage
from discreet.testing import InMemoryMemories, ScriptedChatModel, StubEmbeddings

FACT = "I keep two African Grey parrots."
QUESTION = "Which parrots do I keep?"
NODES = {"save_input", "memory_gate", "retrieve_memories", "assistant", "tools", "persist_filtered"}


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage


@pytest.fixture
async def agent(storage):
    """Return `compiled(**options)`: the template over the storage, as the README builds it."""

    async def compiled(**options):
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        return build_graph(memories=storage.memories, log=storage.log, **options).compile(checkpointer=saver)

    return compiled


async def say(graph, text, *, thread=None, user="ann"):
    message = text if isinstance(text, HumanMessage) else HumanMessage(text)
    config = {"configurable": {"thread_id": thread or str(uuid4())}}
    return (await graph.ainvoke({"messages": [message]}, config, context=Context(user_id=user)))["messages"]


def stored_text(dsn):
    """Everything in every table, as text."""
    return "\n".join(text_of(data) for _, data in rows(dsn))


async def test_the_graph_has_the_nodes_and_edges_of_the_template(agent):
    drawn = (await agent()).get_graph()
    assert {name for name in drawn.nodes if not name.startswith("__")} == NODES
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert edges == {
        ("__start__", "save_input"),
        ("save_input", "memory_gate"),
        ("memory_gate", "retrieve_memories"),
        ("memory_gate", "assistant"),
        ("retrieve_memories", "assistant"),
        ("assistant", "tools"),
        ("tools", "assistant"),
        ("assistant", "persist_filtered"),
        ("persist_filtered", "__end__"),
    }


@pytest.mark.slow
async def test_a_fact_is_known_in_another_thread_of_the_same_user_only(agent):
    graph = await agent(chat_model="offline")
    await say(graph, FACT)
    assert "African Grey" in (await say(graph, QUESTION))[-1].text
    assert "African Grey" not in (await say(graph, QUESTION, user="bob"))[-1].text


@pytest.mark.slow
async def test_known_facts_are_in_the_prompt_before_the_model_speaks(agent):
    await say(await agent(chat_model="offline"), FACT)
    model = ScriptedChatModel(responses=[AIMessage("Two.")])
    await say(await agent(chat_model=model), QUESTION)
    assert f'- [user_fact] "{FACT}"' in model.prompts[0][0].text


@pytest.mark.slow
async def test_a_greeting_is_answered_without_a_search(agent):
    await say(await agent(chat_model="offline"), FACT)
    model = ScriptedChatModel(responses=[AIMessage("Hello.")])
    await say(await agent(chat_model=model), "Hi!")
    assert "parrots" not in model.prompts[0][0].text


@pytest.mark.slow
async def test_another_process_goes_on_with_the_conversation(agent):
    thread = str(uuid4())
    await say(await agent(chat_model="offline"), FACT, thread=thread)
    messages = await say(await agent(chat_model="offline"), "Hello!", thread=thread)
    assert [m.type for m in messages] == ["human", "ai", "human", "ai"]


@pytest.mark.slow
async def test_the_database_holds_redacted_user_and_model_text_only(agent, database, token):

    @tool
    def lookup(query: str) -> str:
        """Look something up."""
        return f"RESULT-{token}"

    calls = [{"name": "lookup", "args": {"query": f"ARGUMENT-{token}"}, "id": f"call-{token}"}]
    answers = [
        AIMessage(f"THOUGHT-{token}", tool_calls=calls),
        AIMessage(f"KEPT-{token}, write to ann.{token}@example.com"),
    ]
    graph = await agent(
        chat_model=ScriptedChatModel(responses=answers), tools=[lookup], system_prompt=f"PROMPT-{token}"
    )
    await say(graph, f"KEPT-{token}, my number is +1 212 555 0147")
    planted = {name: f"{name}-{token}" for name in ("KEPT", "RESULT", "ARGUMENT", "THOUGHT", "PROMPT", "call")}
    assert in_rows(database, **planted, mail=f"ann.{token}", phone="555 0147").keys() == {"KEPT"}


async def test_a_refused_message_leaves_nothing_behind(agent, database):
    graph = await agent(chat_model="offline")
    thread = str(uuid4())
    with pytest.raises(InputTooLargeError):
        await say(graph, "blah " * 200_000, thread=thread)
    assert in_rows(database, "blah blah") == {}
    first, *_ = await say(graph, "Hello!", thread=thread)
    assert first.text == "Hello!"


async def test_of_an_image_the_caption_and_metadata_stay(agent, database):
    pixels = base64.b64encode(b"\x89PNG\r\n\x1a\n" + secrets.token_bytes(60)).decode()
    block = {"type": "image", "base64": pixels, "mime_type": "image/png", "caption": "A blue kettle."}
    await say(await agent(chat_model="offline"), HumanMessage([block]))
    assert in_rows(database, "A blue kettle.", "image/png", pixels=pixels[-20:]).keys() == {
        "A blue kettle.",
        "image/png",
    }


async def test_after_a_turn_that_failed_the_next_one_is_answered(agent):
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    model = ScriptedChatModel(responses=[call, LookupError("the model is gone"), AIMessage("Here I am.")])
    graph = await agent(chat_model=model, tools=[look])
    thread = str(uuid4())
    with pytest.raises(LookupError):
        await say(graph, "Do it", thread=thread)
    messages = await say(graph, "Are you there?", thread=thread)
    assert [m.text for m in messages] == ["Do it", "Are you there?", "Here I am."]
    assert [m.type for m in model.prompts[-1]] == ["system", "human", "human"]


@pytest.mark.slow
async def test_the_tool_loop_ends_with_an_answer(agent):
    @tool
    def again() -> str:
        """Never enough."""
        return "more"

    def asks(_messages):
        return AIMessage("", tool_calls=[{"name": "again", "args": {}, "id": f"c{uuid4()}"}])

    graph = await agent(chat_model=ScriptedChatModel(responses=[asks] * 20), tools=[again])
    messages = await say(graph, "Go")
    assert "limit of tool calls" in messages[-1].text
    assert not messages[-1].tool_calls


async def test_a_store_that_is_down_costs_memory_and_not_the_answer():
    class Down(InMemoryMemories):
        async def search(self, *_args, **_kwargs):
            raise StorageUnavailableError

    model = ScriptedChatModel(responses=[AIMessage("Still here.")])
    graph = build_graph(chat_model=model, memories=Down()).compile()
    assert (await say(graph, QUESTION))[-1].text == "Still here."


async def test_without_memories_the_graph_is_a_plain_assistant():
    graph = build_graph(chat_model=ScriptedChatModel(responses=[AIMessage("Hello.")])).compile()
    assert set(graph.get_graph().nodes) == {"__start__", "save_input", "assistant", "persist_filtered", "__end__"}
    assert (await say(graph, "Hi!"))[-1].text == "Hello."


async def test_preload_and_memory_tools_can_be_left_out():
    memories = InMemoryMemories()
    bare = build_graph(chat_model="offline", memories=memories, preload=False).compile().get_graph().nodes
    assert "tools" in bare
    assert "memory_gate" not in bare
    told = build_graph(chat_model="offline", memories=memories, memory_tools=False).compile().get_graph().nodes
    assert "memory_gate" in told
    assert "tools" not in told


def test_what_callers_see_is_messages_only():
    graph = build_graph(chat_model="offline", memories=InMemoryMemories()).compile()
    assert list(graph.get_input_jsonschema()["properties"]) == ["messages"]
    assert list(graph.get_output_jsonschema()["properties"]) == ["messages"]
    assert ConversationState.__annotations__.keys() >= {"request", "gate", "memories"}


@pytest.mark.slow
async def test_of_a_recording_neither_sound_nor_transcript_is_at_rest(storage, database, token):
    words = [f"{token}{letter}" for letter in "abcdefgh"]
    sound = base64.b64encode(b"OggS" + secrets.token_bytes(300)).decode()
    transcript = " ".join(f"Then came {word} and I said so." for word in words)
    block = {"type": "audio", "base64": sound, "mime_type": "audio/ogg", "language": "en", "transcript": transcript}
    model = ScriptedChatModel(responses=[AIMessage("They spoke of visitors."), AIMessage("I see.")])
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    parts = {"log": storage.log, "short_term": storage.short_term, "summaries": storage.summaries}
    graph = build_graph(chat_model=model, memories=storage.memories, **parts).compile(checkpointer=saver)
    await say(graph, HumanMessage([block]))
    assert transcript in model.prompts[-1][-1].text
    found = in_rows(database, "They spoke of visitors.", "audio/ogg", *words, sound=sound[:40])
    assert found.keys() == {"They spoke of visitors.", "audio/ogg"}


RECORDED = {
    "en": "Hello, my name is Ann and I live near the old harbour. My left knee hurts since Monday. When is my doctor there?",
    "vi": "Xin chào, tôi tên là Lan và tôi sống gần bến cảng cũ. Đầu gối trái của tôi đau từ thứ Hai. Khi nào bác sĩ đến?",
    "ru": "Привет, меня зовут Анна и я живу рядом со старым портом. Моё левое колено болит с понедельника. Когда придёт врач?",
    "zh": "你好，我叫小安，我住在旧港口旁边的公寓里。我的左膝盖从星期一开始一直很疼。医生什么时候来给我看病？",
}


@pytest.mark.slow
@pytest.mark.parametrize("language", RECORDED)
@pytest.mark.parametrize("chat_model", ["offline", "failing", "repeating"])
async def test_no_sentence_of_a_recording_is_kept_whatever_becomes_of_the_model(
    storage, database, language, chat_model, caplog
):
    transcript = RECORDED[language]
    block = {"type": "audio", "sha256": "ab" * 32, "mime_type": "audio/ogg", "durationMs": 80_000}
    summary = {"failing": OSError(transcript), "repeating": AIMessage(f"They said: {transcript}")}.get(chat_model)
    model = "offline" if summary is None else ScriptedChatModel(responses=[AIMessage("I see."), summary])
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    parts = {"log": storage.log, "short_term": storage.short_term, "summaries": storage.summaries}
    graph = build_graph(chat_model=model, memories=storage.memories, **parts).compile(checkpointer=saver)
    messages = await say(graph, HumanMessage([{**block, "transcript": transcript}]))
    kept = [stored_text(database), caplog.text, await storage.memories.search("ann", transcript, limit=50)]
    assert [run for text in kept for run in runs_kept(transcript, str(text))] == []
    assert len(message_text.text_of(messages[0])) > 20
