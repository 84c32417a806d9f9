"""What a person says later about themselves is told first, or alone: end to end, with the embedding that ships."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from testkit.prompt_blocks import read_prompt

from discreet.graph import build_graph
from discreet.providers import embedding_provider
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel

SAID = datetime(2026, 3, 1, tzinfo=UTC)

STORIES = {
    "en": (
        "My name is Linh. I live in Hanoi and I like coffee.",
        ("I moved to Berlin.", "Berlin"),
        ("I live in Hanoi", "I like coffee"),
        "Where do I live now?",
    ),
    "vi": (
        "Tôi tên là Linh, sống ở Hà Nội và thích cà phê.",
        ("Tôi đã chuyển đến Berlin.", "Berlin"),
        ("Tôi sống ở Hà Nội", "Tôi thích cà phê"),
        "Bây giờ tôi sống ở đâu?",
    ),
    "ru": (
        "Меня зовут Линь, я живу в Ханое и люблю кофе.",
        ("Я переехал в Берлин.", "Берлин"),
        ("Я живу в Ханое", "Я люблю кофе"),
        "Где я сейчас живу?",
    ),
    "zh": (
        "我叫小林，住在河内，喜欢咖啡。",
        ("我搬到柏林了。", "柏林"),
        ("我住在河内", "我喜欢咖啡"),
        "我现在住在哪里？",
    ),
}


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=embedding_provider("local")) as storage:
        yield storage


async def say(graph, text, *, user="ann", **context):
    config = {"configurable": {"thread_id": str(uuid4())}}
    state = await graph.ainvoke({"messages": [HumanMessage(text)]}, config, context=Context(user_id=user, **context))
    return state["messages"][-1].text


def built(storage, model):
    graph = build_graph(chat_model=model, memories=storage.memories, memory_settings=storage.memory_settings)
    return graph.compile(checkpointer=InMemorySaver())


async def facts_told(storage, question, **context):
    """Return the lines of facts in the prompt of a new thread."""
    model = ScriptedChatModel(responses=[AIMessage("I see.")])
    await say(built(storage, model), question, **context)
    return read_prompt(model.prompts[0][0].text).blocks.get("known_facts", [])


@pytest.mark.slow
@pytest.mark.parametrize("language", STORIES)
async def test_a_move_after_a_compound_statement_is_told_first_or_alone(storage, language):
    compound, (update, city), (home, taste), question = STORIES[language]
    offline = built(storage, "offline")
    await say(offline, compound)
    assert home in [record.text for record in await storage.memories.latest("ann")]
    await say(offline, update)
    lines = await facts_told(storage, question)
    homes = [n for n, line in enumerate(lines) if home in line]
    [moved] = [n for n, line in enumerate(lines) if city in line]
    assert all(moved < n for n in homes)
    assert any(taste in line for line in lines), "what was said beside it still holds"


@pytest.mark.slow
@pytest.mark.parametrize("language", STORIES)
async def test_the_two_of_a_day_carry_their_times(storage, language):
    compound, (update, _), _, question = STORIES[language]
    offline = built(storage, "offline")
    await say(offline, compound)
    await say(offline, update)
    lines = await facts_told(storage, question)
    assert len(lines) > 2
    assert all(re.search(r"\(\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC\)$", line) for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("language", STORIES)
async def test_an_update_of_a_compound_that_came_by_another_door_is_flagged_and_goes_first(storage, language):
    compound, (update, city), _, question = STORIES[language]
    [old] = await storage.memories.save("ann", [MemoryRecord(text=compound)])
    await say(built(storage, "offline"), update)
    [new] = [record for record in await storage.memories.latest("ann") if city in record.text]
    assert new.conflict_flags == [str(old.entry_id)]
    for context in ({}, {"retrieve_limit": 5}):
        lines = await facts_told(storage, question, **context)
        assert city in lines[0]
        assert len(lines) == 2


async def test_the_parts_of_one_statement_that_contradict_each_other_are_flagged(storage):
    await say(built(storage, "offline"), "I live in Hanoi but I moved to Berlin.")
    kept = {record.text: record for record in await storage.memories.latest("ann")}
    assert kept.keys() == {"I live in Hanoi", "I moved to Berlin"}
    assert any(record.conflict_flags for record in kept.values())


TEN = {
    "en": ("Is there anything for dinner tonight?", [
        "I am allergic to peanuts", "My sister is called Mai", "I drive an old Volvo", "I play the cello",
        "My blood type is 0 negative", "I support Arsenal", "I speak Portuguese", "I was born in 1990",
        "My landlord is Mr Novak", "I collect stamps",
    ]),
    "zh": ("今晚推荐我吃什么？", [
        "我对花生过敏", "我妹妹叫小梅", "我开一辆旧沃尔沃", "我会拉大提琴", "我的血型是O型", "我支持阿森纳",
        "我会说葡萄牙语", "我1990年出生", "我的房东姓王", "我收集邮票",
    ]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.dialect
@pytest.mark.parametrize("language", TEN)
async def test_a_person_of_ten_facts_is_told_all_ten_whatever_they_ask(storage, language):
    question, facts = TEN[language]
    for days, fact in enumerate(facts):
        await storage.memories.save("ann", [MemoryRecord(text=fact, created_at=SAID + timedelta(days=days))])
    lines = await facts_told(storage, question)
    assert sorted(fact for fact in facts if any(fact in line for line in lines)) == sorted(facts)
    assert len(await facts_told(storage, question, retrieve_limit=3)) <= 3
