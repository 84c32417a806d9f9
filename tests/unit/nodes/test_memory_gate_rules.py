import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.nodes.memory_gate import GateDecision, decide, decide_by_rules, default_rules, load_rules, make_decide
from discreet.testing import hostile_texts

SKIP = {
    "greeting": [
        "Hi!",
        "Good morning 😀",
        "heyyy",
        "XIN CHÀO!",
        "xin chao",
        "chào buổi sáng",
        "Привет",
        "Добрый день!",
        "你好",
        "早安",
        "你好嗎",
    ],
    "thanks": [
        "Thanks a lot!!",
        "thank you so much",
        "cảm ơn bạn nhiều nhé",
        "cam on nhieu",
        "спасибо большое",
        "多謝",
    ],
    "chit_chat": ["ok", "lol", "hahahaha", "vâng ạ", "ясно", "好的", "哈哈哈", "tell me a joke", "расскажи анекдот"],
    "courtesy": ["Can you help me?", "I have a question"],
    "self_contained": [
        "Translate 'cat' into French",
        "2 + 2",
        "Hi, could you please translate this for me: good night",
        "dịch câu này sang tiếng Anh",
        "翻译成英文：苹果",
        "write a short poem about rain",
    ],
}
MATERIAL = [
    "Translate: 'I was here yesterday'",
    "translate i was here yesterday into french",
    'How do you say "where did I leave my keys" in Spanish?',
    "I said yesterday that my back hurts.\nTranslate this into German",
    "Fix the grammar: me and him was late last week",
    "Переведи на английский: я вчера болел",
    "Как по-испански «где мои ключи»?",
    "Dịch sang tiếng Anh giúp mình: Hôm qua tôi bị sốt",
    "把「我昨天病了」翻译成英文",
    "将“你还记得我吗”翻譯成英文",
    "объясни код: x = [i for i in range(10)]",
]
RETRIEVE = {
    "earlier_talk": [
        "Hi, what did I tell you about it?",
        "bạn có nhớ không",
        "напомни про встречу",
        "你还记得吗",
        "上次說的",
        "Your recipe was great",
    ],
    "own_facts": [
        "What is my dog called?",
        "tên tôi là gì",
        "где я живу",
        "我喜欢什么颜色",
        "today I am short of breath",
        "Write a poem for my wife",
        "給我媽寫首詩",
    ],
}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in SKIP.items() for text in texts])
def test_skips_what_needs_no_memory(rule, text):
    assert decide_by_rules(text) == GateDecision(retrieve=False, reason=rule)


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in RETRIEVE.items() for text in texts])
def test_retrieves_what_may_need_memory(rule, text):
    assert decide_by_rules(text) == GateDecision(retrieve=True, reason=rule)


@pytest.mark.parametrize("text", MATERIAL)
def test_what_a_task_is_done_to_is_not_what_the_person_says(text):
    assert not decide(text).retrieve


@pytest.mark.parametrize(
    "text", ["I have keys but open no locks. What am I?", "Сто одёжек, и все без застёжек. Кто я?"]
)
def test_riddles_say_i_and_mean_somebody_else(text):
    assert decide_by_rules(text) == GateDecision(retrieve=False, reason="riddle")


def test_what_is_asked_beside_the_material_counts():
    assert decide_by_rules("Translate what I told you yesterday").retrieve
    assert decide_by_rules('Translate "good night" into the language I am learning').retrieve
    assert decide_by_rules("Переведи на язык моей жены: доброе утро").retrieve


def test_a_message_begins_behind_its_greeting_and_thanks():
    assert decide_by_rules("Hi! Thanks a lot! Pretend to be a grumpy wizard").reason == "roleplay"


def test_quotation_marks_around_everything_hide_nothing():
    assert decide_by_rules('"What did I tell you last time?"').retrieve


@pytest.mark.parametrize("text", ["", "   ", "😀", "\0", "?!"])
def test_nothing_said_needs_no_memory(text):
    assert decide_by_rules(text) == GateDecision(retrieve=False, reason="empty")


@pytest.mark.fast_cases(60)
@pytest.mark.parametrize(
    "text",
    [
        "哈" * 3000 + "x",
        "ха" * 3000 + "!x",
        "hi " * 2000 + "x1",
        "非常太很真的" * 300,
        "1+" * 5000,
        "a" * 1_000_000,
        'translate "' * 500,
        "still " * 5000,
        ":" * 5000,
        *hostile_texts(20_000).values(),
    ],
)
def test_hostile_texts_are_decided(text):
    assert decide_by_rules(text).reason


@given(st.text(max_size=300))
def test_any_text_is_decided(text):
    assert decide_by_rules(text).reason


@given(
    st.sampled_from(["hi, ", "Thanks! ", "Xin chào, ", "Привет! ", "你好，"]),
    st.sampled_from([text for texts in RETRIEVE.values() for text in texts]),
)
def test_retrieve_rules_beat_a_greeting(greeting, text):
    assert decide_by_rules(greeting + text).retrieve


OWN = """
[[rules]]
name = "weather"
retrieve = false
match = "anywhere"
en = ["weather"]
vi = ["thời tiết"]
zh = ["天氣"]
"""


def test_rules_are_data_that_users_extend():
    decide_own = make_decide([*load_rules(OWN), *default_rules()])
    assert decide_own("how is the weather for my trip") == GateDecision(retrieve=False, reason="weather")
    assert decide_own("Hi!").reason == "greeting"


def test_a_rule_of_ones_own_matches_without_accents_and_in_both_chinese_scripts():
    decide_own = make_decide(load_rules(OWN))
    assert {decide_own(text).reason for text in ("thoi tiet hom nay", "今天天气怎么样", "今天天氣怎麼樣")} == {
        "weather"
    }


def test_what_no_rule_matches_retrieves():
    assert decide_by_rules("Where is the parcel?") == GateDecision(retrieve=True, reason="unsure")


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True])
def test_the_phrases_of_every_rule_compile(plain):
    import re

    for rule in default_rules():
        for phrase in rule.phrases(plain=plain):
            assert re.compile(phrase)


def test_a_message_in_two_scripts_is_read_in_both():
    decide_own = make_decide(load_rules(OWN.replace('match = "anywhere"', 'match = "start"')))
    for text in ("天氣 today", "weather 很好", "thời tiết 今天"):
        assert decide_own(text).reason == "weather"
    assert decide_by_rules("Привет! what did I tell you?").reason == "earlier_talk"


def test_a_phrase_in_several_scripts_is_looked_for_in_each():
    both = '[[rules]]\nname = "git"\nretrieve = false\nmatch = "anywhere"\nen = ["git|гит|吉特"]'
    decide_own = make_decide(load_rules(both))
    assert {decide_own(text).reason for text in ("git?", "а гит?", "吉特?")} == {"git"}
