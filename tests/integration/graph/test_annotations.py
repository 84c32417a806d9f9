"""What is noted of turns and memories beside their text, on a real PostgreSQL server."""

import asyncio
import secrets
from base64 import b64encode

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from discreet.graph import build_graph
from discreet.prompts.texts import prompt_id
from discreet.providers.offline import OfflineChatModel
from discreet.providers.summaries import ChatModelSummaryProvider
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.state.records import Annotation
from discreet.storage import open_storage, open_storage_sync
from discreet.testing import FixedAnnotator, ScriptedChatModel, StubEmbeddings

VERSION = {"model_name": "small-2026-03-17"}


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage


def graph_of(storage, **options):
    own = {"memories": storage.memories, "log": storage.log, "short_term": storage.short_term}
    return build_graph(**{**own, "summaries": storage.summaries, **options}).compile(checkpointer=InMemorySaver())


async def say(graph, text, *, config=None, **context):
    thread = {"configurable": {"thread_id": "1"}, **(config or {})}
    given = {"messages": [HumanMessage(text)]}
    return await graph.ainvoke(given, thread, context=Context(user_id="ann", **context))


def row(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchone()


def logged(dsn):
    """Return what the log has of the last turn."""
    return row(
        dsn, "SELECT is_emergency, loop_flag, provenance FROM discreet.conversation_log ORDER BY ended_at DESC LIMIT 1"
    )


def session(dsn):
    return row(dsn, "SELECT locale, intent, sealed_intent FROM discreet.session_record")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "locale", "intent"),
    [
        ("My father has chest pain", "en", "father chest pain"),
        ("Bố tôi đau tức ngực", "vi", "Bố đau tức ngực"),
        ("У моего отца боль в груди", "ru", "моего отца боль груди"),
        ("我爸爸胸口很痛", "zh", "爸爸胸口"),
    ],
)
async def test_a_turn_with_the_offline_model_is_annotated(storage, said, locale, intent):
    await say(graph_of(storage, chat_model="offline"), said)
    emergency, _, provenance = logged(storage.dsn)
    assert (emergency, provenance["model"], provenance["model_version"]) == (True, "offline", "offline")
    assert session(storage.dsn) == (locale, intent, None)
    (kept,) = await storage.short_term.recent_rounds("ann", "1")
    assert kept.is_emergency


@pytest.mark.slow
async def test_a_session_keeps_its_intent_until_a_summary_tells_one_and_follows_the_language(storage):
    graph = graph_of(storage, chat_model="offline")
    await say(graph, "I would like to plan a trip to Hue")
    for said in ["Is it far?", "Tôi có hai con vẹt", "Bao xa?"]:
        await say(graph, said)
    assert session(storage.dsn) == ("vi", "like plan trip Hue", None)
    assert logged(storage.dsn)[0] is False


async def test_the_intent_is_sealed_where_there_is_a_key(database):
    keys = f"k1:{b64encode(secrets.token_bytes(32)).decode()}"
    settings = Settings(encryption_keys=keys)
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as storage:
        await say(graph_of(storage, chat_model="offline"), "My father has diabetes")
        locale, plain, sealed = session(storage.dsn)
    assert (locale, plain) == ("en", None)
    assert sealed
    assert b"diabetes" not in sealed


@pytest.mark.slow
async def test_turns_facts_and_summaries_tell_which_model_wrote_them_to_which_instructions(storage):
    save = {"name": "save_memory", "args": {"text": "Keeps two parrots"}, "id": "c1"}
    model = ScriptedChatModel(
        responses=[
            AIMessage("", tool_calls=[save], response_metadata=VERSION),
            AIMessage("Noted.", response_metadata=VERSION),
        ]
    )
    with pytest.warns(UserWarning, match="Turns are remembered"):
        graph = graph_of(storage, chat_model=model, system_prompt="Be brief.", remember="turns")
    await say(graph, "I keep two parrots")
    expected = ("ScriptedChatModel", "small-2026-03-17", prompt_id("assistant", "Be brief."))
    kept = {record.type: record for record in await storage.memories.latest("ann")}
    assert kept.keys() == {"turn", "user_fact"}
    for record, source in [(kept["turn"], "turns"), (kept["user_fact"], "save_memory")]:
        came = record.provenance
        assert (came.model, came.model_version, came.prompt, came.source) == (*expected, source)
    assert logged(storage.dsn)[2] == dict(zip(("model", "model_version", "prompt"), expected, strict=True)) | {
        "source": "turns"
    }


@pytest.mark.slow
async def test_the_memory_of_a_summary_tells_which_model_wrote_it(storage):
    writer = ScriptedChatModel(responses=[AIMessage("They keep parrots.", response_metadata=VERSION)])
    provider = ChatModelSummaryProvider(writer)
    model = ScriptedChatModel(responses=[AIMessage("Hello.")] * 5)
    graph = graph_of(storage, chat_model=model, summary_provider=provider, summarise="turn")
    for number in range(5):
        await say(graph, f"I keep parrot number {number}")
    (kept,) = await storage.memories.latest("ann")
    assert kept.type == "conversation_summary"
    assert kept.provenance == provider.provenance.model_copy(update={"source": "compaction"})
    assert kept.provenance.model_version == "small-2026-03-17"
    assert kept.provenance.prompt.startswith("rolling_summary@")


async def test_instructions_of_the_run_have_an_id_of_their_own(storage):
    model = ScriptedChatModel(responses=[AIMessage("Hello."), AIMessage("Hello.")])
    graph = graph_of(storage, chat_model=model)
    await say(graph, "Hi there")
    template = logged(storage.dsn)[2]["prompt"]
    await say(graph, "Hi again", system_prompt="Speak like a pirate.")
    assert logged(storage.dsn)[2]["prompt"] == prompt_id("assistant", "Speak like a pirate.") != template


async def test_the_model_that_stepped_in_is_the_one_that_is_told(storage):
    down = ScriptedChatModel(responses=[ConnectionError()] * 3)
    settings = Settings(model_retry_seconds=0)
    await say(
        graph_of(storage, chat_model=down, fallback_model=OfflineChatModel(), settings=settings), "I keep parrots"
    )
    assert logged(storage.dsn)[2]["model"] == "offline"


class Slow:
    async def annotate(self, _turn):
        await asyncio.sleep(60)


class Broken:
    async def annotate(self, _turn):
        raise LookupError("ann@example.com")


class Wrong:
    async def annotate(self, _turn):
        return Annotation(locale="the English language", is_emergency=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("annotator", "cause"), [(Slow(), "TimeoutError"), (Broken(), "LookupError"), (Wrong(), "InvalidRecordError")]
)
async def test_an_annotator_that_fails_or_takes_long_costs_its_annotations(storage, caplog, annotator, cause):
    async with asyncio.timeout(10):
        state = await say(graph_of(storage, chat_model="offline", annotator=annotator), "My father has chest pain")
    assert state["messages"][-1].text
    assert logged(storage.dsn)[0] is False
    assert session(storage.dsn) == (None, None, None)
    assert f"annotation_failed cause={cause}" in caplog.text
    assert "ann@example.com" not in caplog.text


@pytest.mark.slow
async def test_an_annotator_of_ones_own_is_asked_with_redacted_texts(storage):
    annotator = FixedAnnotator(Annotation(locale="pt-BR", intent="write to ann@example.com", is_emergency=True))
    await say(graph_of(storage, chat_model="offline", annotator=annotator), "Write to ann@example.com")
    assert "ann@example.com" not in repr(annotator.turns)
    assert session(storage.dsn) == ("pt-BR", "write to <EMAIL>", None)


@pytest.mark.slow
def test_a_graph_that_is_invoked_annotates_too(database):
    with open_storage_sync(database, embeddings=StubEmbeddings(dims=64)) as storage:
        graph = graph_of(storage, chat_model="offline")
        thread = {"configurable": {"thread_id": "1"}}
        graph.invoke({"messages": [HumanMessage("There is a fire")]}, thread, context=Context(user_id="ann"))
        assert logged(database)[0] is True


@tool
def again() -> str:
    """Never enough."""
    return "more"


def call(number):
    return AIMessage("", tool_calls=[{"name": "again", "args": {}, "id": f"c{number}"}])


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("responses", "config", "hit"),
    [
        ([call(1), AIMessage("Done.")], {}, False),
        ([call(1), call(2), AIMessage("Done.")], {}, True),
        ([call(1), call(2), call(3)], {}, True),
        ([call(1), call(2), AIMessage("Done.")], {"recursion_limit": 7}, True),
        ([call(1), AIMessage("Done.")], {"recursion_limit": 10}, False),
    ],
    ids=["below", "at the last allowed call", "beyond", "LangGraph's limit", "within LangGraph's limit"],
)
async def test_a_turn_that_came_to_a_limit_is_flagged_in_log_and_memories(storage, responses, config, hit):
    with pytest.warns(UserWarning, match="Turns are remembered"):
        graph = graph_of(
            storage,
            chat_model=ScriptedChatModel(responses=responses),
            tools=[again],
            remember="turns",
            settings=Settings(tool_loop_limit=2),
        )
    state = await say(graph, "Go on then, my dear", config=config)
    assert state["messages"][-1].text
    assert logged(storage.dsn)[1] is hit
    assert {record.loop_flag for record in await storage.memories.latest("ann")} == {hit}


async def test_an_emergency_that_is_spoken_is_noted(storage):
    words = "So I went to the market this morning and bought apples. Then I could not breathe and my chest hurts badly."
    spoken = [{"type": "audio", "base64": "UklGRg==", "mime_type": "audio/wav", "transcript": words}]
    thread = {"configurable": {"thread_id": "1"}}
    graph = graph_of(storage, chat_model="offline")
    await graph.ainvoke({"messages": [HumanMessage(spoken)]}, thread, context=Context(user_id="ann"))
    assert logged(storage.dsn)[0] is True
    assert "chest hurts badly" not in str(row(storage.dsn, "SELECT input_text FROM discreet.conversation_log"))
