"""What the user had forgotten is told by no prompt, in whatever thread, house and language, and after a restart."""

import json
from uuid import uuid4

import psycopg
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph, drain
from discreet.graph.middleware import MemoryMiddleware
from discreet.providers.offline import OfflineChatModel
from discreet.state.context import Context
from discreet.state.records import MemoryFilters
from discreet.storage import open_storage
from discreet.testing import StrictChatModel, StubEmbeddings

pytestmark = pytest.mark.slow

LANGUAGES = {
    "en": {
        "fact": "I am allergic to peanuts.",
        "again": "No peanuts for me, please, they make me ill.",
        "other": "My boat lies in Rostock harbour.",
        "forget": "Please forget that I am allergic to peanuts.",
        "words": ["peanut", "allerg"],
        "kept": "Rostock",
        "talk": [
            "I painted the fence.",
            "My neighbour plays the cello.",
            "I bake bread on Sundays.",
            "I sold my bicycle.",
        ],
        "next": "What do you know about me?",
    },
    "vi": {
        "fact": "Tôi bị dị ứng đậu phộng.",
        "again": "Đừng cho đậu phộng vào món của tôi nhé.",
        "other": "Thuyền của tôi đậu ở cảng Hải Phòng.",
        "forget": "Hãy quên rằng tôi bị dị ứng đậu phộng.",
        "words": ["đậu phộng", "dị ứng"],
        "kept": "Hải Phòng",
        "talk": ["Tôi vừa sơn hàng rào.", "Hàng xóm của tôi chơi đàn.", "Tôi nướng bánh mì.", "Tôi bán xe đạp rồi."],
        "next": "Bạn biết gì về tôi?",
    },
    "ru": {
        "fact": "У меня аллергия на арахис.",
        "again": "Только без арахиса, мне от него плохо.",
        "other": "Моя лодка стоит в Кронштадте.",
        "forget": "Забудь, что у меня аллергия на арахис.",
        "words": ["арахис", "аллерги"],
        "kept": "Кронштадт",
        "talk": ["Я покрасил забор.", "Мой сосед играет на скрипке.", "Я пеку хлеб.", "Я продал велосипед."],
        "next": "Что ты обо мне знаешь?",
    },
    "zh": {
        "fact": "我对花生过敏。",
        "again": "我的菜里不要放花生。",
        "other": "我的船停在青岛港。",
        "forget": "请忘记我对花生过敏。",
        "words": ["花生", "过敏"],
        "kept": "青岛",
        "talk": ["我刷了篱笆。", "邻居拉大提琴。", "我烤面包。", "我卖了自行车。"],
        "next": "你知道我什么？",
    },
}


class Quotes:
    """A summary provider that leaves nothing out."""

    async def summarize(self, rounds, *, earlier="", max_tokens=200):
        return " ".join(each.said for each in rounds) or earlier


class Assistant:
    """A model that saves what it is told to, and forgets by recall and id, else by words; it keeps its prompts."""

    def __init__(self, words):
        self.words = words
        self.model = StrictChatModel(answer=self._answer)

    @property
    def prompts(self):
        """What was asked, as text."""
        return ["\n".join(str(message.text) for message in prompt) for prompt in self.model.prompts]

    def telling(self, since):
        """Return the prompts from `since` on that hold a word of the fact."""
        return [prompt for prompt in self.prompts[since:] if any(word in prompt.casefold() for word in self.words)]

    def _answer(self, messages):
        said = next(m for m in reversed(messages) if isinstance(m, HumanMessage))
        results = messages[messages.index(said) + 1 :]
        last = results[-1] if results and isinstance(results[-1], ToolMessage) else None
        if "save:" in said.text and last is None:
            return _call("save_memory", {"text": said.text.removeprefix("save: ")})
        if "forget:" in said.text and last is None:
            return _call("recall_memory", {"query": said.text.removeprefix("forget: ")})
        if last is not None and last.name == "recall_memory":
            found = [m for m in json.loads(last.text)["memories"] if m["type"] == "user_fact"]
            named = {"entry_id": found[0]["entry_id"]} if found else {"text": said.text.removeprefix("forget: ")}
            return _call("forget_memory", named)
        return AIMessage("Fine.")


def _call(name, arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"c-{uuid4()}"}])


@pytest.fixture(params=list(LANGUAGES))
def script(request):
    return LANGUAGES[request.param]


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage


HOUSES = ["redacting", "in_memory", "create_agent"]


async def house(kind, storage, assistant, **options):
    """Return `say(text, thread, user)` of a graph over the storage, as somebody would have it in their program."""
    if kind == "redacting":
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
    else:
        saver = options.pop("saver", None) or InMemorySaver()
    options.pop("saver", None)
    parts = {
        "memories": storage.memories,
        "log": storage.log,
        "short_term": storage.short_term,
        "summaries": storage.summaries,
        "summary_provider": Quotes(),
        **options,
    }
    if kind == "create_agent":
        middleware = MemoryMiddleware(**parts, model="offline")
        graph = create_agent(assistant.model, middleware=[middleware], checkpointer=saver)
    else:
        graph = build_graph(chat_model=assistant.model, **parts).compile(checkpointer=saver)

    async def say(text, thread, user="ann", **message):
        config = {"configurable": {"thread_id": thread, "user_id": user}}
        context = None if kind == "create_agent" else Context(user_id=user)
        given = {"messages": [HumanMessage(text, **message)]}
        return (await graph.ainvoke(given, config, context=context))["messages"]

    return say


async def summarised(storage, thread, rounds, user="ann"):
    """Return the rolling summary of a thread, once what is remembered of it is kept too."""
    assert await drain() == 0
    found = await storage.summaries.get(user, thread)
    assert found.rounds >= rounds
    return found.text


@pytest.mark.parametrize("kind", HOUSES)
async def test_what_was_forgotten_is_in_no_later_prompt(script, storage, database, kind):
    assistant, saver = Assistant(script["words"]), InMemorySaver()
    say = await house(kind, storage, assistant, saver=saver)
    await say("save: " + script["fact"], "a")
    await say("save: " + script["other"], "a")
    for text in script["talk"]:
        await say(text, "a")
    await say(script["again"], "b")
    await say(script["talk"][0], "b")
    await say("save: " + script["fact"], "d", user="bob")
    assert script["words"][0] in (await summarised(storage, "a", 5)).casefold()
    assert any(w in text.casefold() for text in await texts(storage, "conversation_summary") for w in script["words"])

    *_, answer = await say("forget: " + script["forget"], "a")
    assert answer.text == "Fine."
    (result,) = [json.loads(m.text) for m in assistant.model.prompts[-1] if getattr(m, "name", "") == "forget_memory"]
    assert (result["deleted"], result["also"]) == (True, [])
    assert result["rounds"] == 2
    assert result["summaries"] == 2

    remade = await remade_without_it(assistant, say, script, storage)
    assert script["kept"] in remade

    restarted = Assistant(script["words"])
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as anew:
        say = await house(kind, anew, restarted, saver=saver)
        for thread in ("a", "b", "c"):
            await say(script["next"], thread)
        assert restarted.telling(0) == []
        assert script["kept"] in restarted.prompts[0]
        await say(script["next"], "d", user="bob")
        assert len(restarted.telling(0)) == 1
    with psycopg.connect(database) as connection:
        (logged,) = connection.execute("SELECT string_agg(input_text, ' ') FROM discreet.conversation_log").fetchone()
        assert script["words"][0] in logged.casefold()
        marks = connection.execute("SELECT * FROM discreet.forgotten_round").fetchall()
        assert len(marks) == 3


@pytest.mark.parametrize("kind", HOUSES)
async def test_no_session_is_said_to_be_about_it(script, storage, database, kind):
    """Neither at once, nor by the turn that asks to forget it, nor by those that follow."""
    say = await house(kind, storage, Assistant(script["words"]))

    async def is_about(text):
        """Say it; return whether the session is said to be about what is forgotten then."""
        await say(text, "a")
        assert await drain() == 0
        with psycopg.connect(database) as connection:
            [(intent,)] = connection.execute("SELECT intent FROM discreet.session_record").fetchall()
        return any(word in (intent or "").casefold() for word in script["words"])

    assert await is_about("save: " + script["fact"])
    assert await is_about(script["talk"][0])
    assert not await is_about("forget: " + script["forget"])
    assert not await is_about(script["talk"][1])
    assert not await is_about(script["talk"][2])


@pytest.mark.parametrize("kind", HOUSES)
async def test_what_was_said_and_never_kept_as_a_memory_is_in_no_later_prompt(script, storage, kind):
    """The request that names it goes too, and so does the summary that other threads are told."""
    assistant = Assistant(script["words"])
    say = await house(kind, storage, assistant)
    for text in (script["fact"], script["other"], *script["talk"]):
        await say(text, "a")
    await say(script["again"], "b")
    assert script["words"][0] in (await summarised(storage, "a", 5)).casefold()

    await say("forget: " + script["fact"], "a")
    (result,) = [json.loads(m.text) for m in assistant.model.prompts[-1] if getattr(m, "name", "") == "forget_memory"]
    assert result == {"deleted": True, "also": [], "rounds": 2, "summaries": 2, "still": []}

    await remade_without_it(assistant, say, script, storage)


async def remade_without_it(assistant, say, script, storage):
    """Go on talking in three threads; return the summary of the first, which was made anew. Nothing tells what was forgotten."""
    since = len(assistant.prompts)
    for thread in ("a", "b", "c"):
        await say(script["next"], thread)
        await say(script["talk"][1], thread)
    assert assistant.telling(since) == []
    assert script["kept"] in assistant.prompts[since]
    remade = await summarised(storage, "a", 5)
    assert not any(word in remade.casefold() for word in script["words"])
    assert not any(w in text.casefold() for text in await texts(storage) for w in script["words"])
    return remade


async def texts(storage, *types, user="ann"):
    found = await storage.memories.latest(user, held=False, filters=MemoryFilters(types=list(types) or None))
    return [record.text for record in found]


async def test_turns_that_were_remembered_word_for_word_go_too(script, storage):
    assistant = Assistant(script["words"])
    with pytest.warns(UserWarning, match="noisy"):
        say = await house("in_memory", storage, assistant, remember="turns", summaries=None)
    await say("save: " + script["fact"], "a")
    await say(script["again"], "b")
    await say(script["talk"][0], "b")
    assert any(script["words"][0] in text.casefold() for text in await texts(storage, "turn"))
    await say("forget: " + script["forget"], "b")
    assert not any(word in text.casefold() for text in await texts(storage) for word in script["words"])
    assert any(script["talk"][0] in text for text in await texts(storage, "turn"))
    since = len(assistant.prompts)
    await say(script["forget"].replace("forget", "recall"), "c")
    assert len(assistant.telling(since)) == 1  # the words of the question itself


OFFLINE = {
    "en": ("I live in Hanoi.", "Please forget that I live in Hanoi.", "Where do I live?", "Hanoi", "I play chess."),
    "vi": ("Tôi sống ở Hà Nội.", "Hãy quên rằng tôi sống ở Hà Nội.", "Tôi sống ở đâu?", "Hà Nội", "Tôi chơi cờ."),
    "ru": ("Я живу в Ханое.", "Забудь, что я живу в Ханое.", "Где я живу?", "Хано", "Я играю в шахматы."),
    "zh": ("我住在河内。", "请忘记我住在河内。", "我住在哪里？", "河内", "我下棋。"),
}


SAID = {
    "en": (
        "Should I tell my boss that I am pregnant?",
        "Don't remember that I am pregnant.",
        "pregnan",
        "I play chess.",
    ),
    "vi": (
        "Tôi đang mang thai, có uống cà phê được không?",
        "Hãy quên rằng tôi mang thai",
        "mang thai",
        "Tôi chơi cờ.",
    ),
    "ru": ("Говорить ли начальнику, что я беременна?", "Забудь, что я беременна", "беремен", "Я играю в шахматы."),
    "zh": ("我怀孕了能喝咖啡吗？", "别记住我怀孕了", "怀孕", "我下棋。"),
}


class Recording(OfflineChatModel):
    """The offline model; it keeps its prompts."""

    prompts: list[str] = Field(default_factory=list)

    def _answer(self, messages, tools):
        self.prompts.append("\n".join(str(message.text) for message in messages))
        return super()._answer(messages, tools)


@pytest.mark.parametrize("language", SAID)
async def test_the_offline_model_forgets_what_was_only_said(database, language):
    asked, forget, word, other = SAID[language]
    async with open_storage(database) as storage:
        model = Recording()
        parts = {"memories": storage.memories, "log": storage.log, "summaries": storage.summaries}
        graph = build_graph(chat_model=model, **parts).compile(checkpointer=InMemorySaver())

        async def say(text):
            state = await graph.ainvoke(
                {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "a"}}, context=Context(user_id="ann")
            )
            return state["messages"][-1].text

        await say(other)
        await say(asked)
        assert word not in await say(forget)
        since = len(model.prompts)
        await say(other)
        assert word not in "".join(model.prompts[since:])
        assert [other] == await texts(storage)


@pytest.mark.parametrize("language", OFFLINE)
async def test_the_offline_model_forgets(database, language):
    fact, forget, question, word, other = OFFLINE[language]
    async with open_storage(database) as storage:
        parts = {"memories": storage.memories, "log": storage.log, "summaries": storage.summaries}
        graph = build_graph(chat_model="offline", **parts).compile(checkpointer=InMemorySaver())

        async def say(text, thread):
            config = {"configurable": {"thread_id": thread}}
            state = await graph.ainvoke({"messages": [HumanMessage(text)]}, config, context=Context(user_id="ann"))
            return state["messages"][-1].text

        await say(fact, "a")
        await say(other, "a")
        assert word in await say(question, "b")
        assert word not in await say(forget, "a")
        assert not any(word in text for text in await texts(storage))
        assert [other] == await texts(storage)
        for thread in "abc":
            assert word not in await say(question, thread)
