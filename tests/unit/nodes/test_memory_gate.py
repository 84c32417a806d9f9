import pytest
from langchain_core.messages import AIMessage, HumanMessage

from discreet.nodes.memory_gate import (
    GateDecision,
    decide,
    default_rules,
    load_rules,
    make_decide,
    make_memory_gate,
    route_after_gate,
)

SKIP = {
    "greeting": ["Hi!", "Good morning 😀", "Xin chào!", "chào buổi sáng", "Привет", "Добрый день!", "你好", "早安"],
    "thanks": ["Thanks a lot!!", "thank you so much", "cảm ơn bạn nhiều nhé", "спасибо большое", "谢谢你", "多謝"],
    "chit_chat": ["ok", "lol", "haha", "vâng ạ", "понятно", "好的", "哈哈哈"],
    "self_contained": [
        "Translate 'cat' into French",
        "2 + 2",
        "What is COPD?",
        "dịch câu này sang tiếng Anh",
        "Что такое интеграл?",
        "翻译成英文：苹果",
    ],
}
RETRIEVE = {
    "earlier_talk": ["Hi, what did I tell you about it?", "bạn có nhớ không", "напомни про встречу", "你还记得吗"],
    "time_reference": ["what happened yesterday", "hôm qua thế nào", "а вчера?", "上次說的"],
    "state_change": ["the cough is back", "vẫn còn đau", "кашель хуже", "今天很喘"],
    "own_facts": ["What is my dog called?", "tên tôi là gì", "где я живу", "我喜欢什么颜色", "My phone is broken"],
    "unsure": ["Where is the parcel?"],
}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in SKIP.items() for text in texts])
def test_skips_what_needs_no_memory(rule, text):
    assert decide(text) == GateDecision(retrieve=False, reason=rule)


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in RETRIEVE.items() for text in texts])
def test_retrieves_what_may_need_memory(rule, text):
    assert decide(text) == GateDecision(retrieve=True, reason=rule)


@pytest.mark.parametrize("text", ["", "   ", "😀", "\0"])
def test_nothing_said_needs_no_memory(text):
    assert decide(text) == GateDecision(retrieve=False, reason="empty")


def test_retrieve_rules_beat_skip_rules():
    assert decide("Hi, what did I tell you last time?").retrieve
    assert decide("Translate what I told you yesterday").retrieve


@pytest.mark.parametrize(
    "text", ["哈" * 3000 + "x", "ха" * 3000 + "!x", "hi " * 2000 + "x1", "1+" * 5000, "a" * 1_000_000]
)
def test_hostile_texts_are_decided(text):
    assert decide(text).reason


def test_rules_are_data_that_users_extend():
    own = load_rules(
        '[[rules]]\nname = "weather"\nretrieve = false\nmatch = "anywhere"\nen = ["weather"]\nzh = ["天气"]'
    )
    decide_own = make_decide([*own, *default_rules()])
    assert decide_own("how is the weather for my trip") == GateDecision(retrieve=False, reason="weather")
    assert decide_own("今天天气怎么样") == GateDecision(retrieve=False, reason="weather")
    assert decide_own("Hi!").reason == "greeting"


async def test_the_node_reads_the_newest_user_message():
    gate = make_memory_gate()
    state = {"messages": [HumanMessage("what did I say?"), AIMessage("…"), HumanMessage("thanks!")]}
    assert await gate(state) == {"gate": {"retrieve": False, "reason": "thanks"}}


async def test_the_node_works_in_a_foreign_state():
    assert (await make_memory_gate(messages_key="chat")({"chat": [HumanMessage("my dog")]}))["gate"]["retrieve"]


@pytest.mark.parametrize(
    ("gate", "following"),
    [
        ({"retrieve": True, "reason": "unsure"}, "retrieve_memories"),
        ({"retrieve": False, "reason": "greeting"}, "assistant"),
        (None, "retrieve_memories"),
    ],
)
def test_the_edge_leads_past_retrieval_on_skip(gate, following):
    assert route_after_gate({"messages": [], "gate": gate}) == following
