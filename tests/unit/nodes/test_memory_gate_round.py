import pytest

from discreet.nodes.memory_gate import GateDecision, decide, decide_by_rules, default_rules, load_rules, make_decide
from discreet.nodes.memory_gate.prototypes import Neighbours
from discreet.ports import SpokenRound
from discreet.providers.local import LocalEmbeddings

OWN = {
    "en": SpokenRound(said="When do I see the dentist?", answered="On Tuesday at nine."),
    "vi": SpokenRound(said="Khi nào mình đi khám răng?", answered="Thứ Ba lúc chín giờ."),
    "ru": SpokenRound(said="Когда я иду к зубному?", answered="Во вторник в девять."),
    "zh": SpokenRound(said="我什么时候看牙医？", answered="星期二九点。"),
}
GENERAL = {
    "en": SpokenRound(said="What do axolotls eat?", answered="Worms and small fish."),
    "vi": SpokenRound(said="Thủ đô của Peru là gì?", answered="Là Lima."),
    "ru": SpokenRound(said="Что такое осмос?", answered="Прохождение воды через мембрану."),
    "zh": SpokenRound(said="世界上最大的岛是哪个？", answered="格陵兰岛。"),
}
FOLLOW_UPS = [
    ("en", "And how long does that take?"),
    ("en", "Thanks! And where is it?"),
    ("en", "ok, what about the second one"),
    ("en", "Why is that?"),
    ("vi", "Thế còn cái thứ hai?"),
    ("vi", "Cảm ơn! Ở đâu vậy?"),
    ("ru", "А второй?"),
    ("ru", "Спасибо! А где это?"),
    ("ru", "Понял, а сколько это длится?"),
    ("zh", "那第二个呢？"),
    ("zh", "谢谢！在哪里？"),
]
ELLIPTIC = [
    "And the second one?",
    "Thanks! And when is it?",
    "Còn cái thứ hai?",
    "А второй?",
    "Спасибо! А когда это?",
    "那第二个呢？",
]


@pytest.mark.parametrize(("lang", "text"), FOLLOW_UPS)
def test_a_follow_up_is_about_what_the_round_before_was_about(lang, text):
    assert decide_by_rules(text, OWN[lang]).retrieve
    assert not decide_by_rules(text, GENERAL[lang]).retrieve


@pytest.mark.parametrize("text", ELLIPTIC)
def test_an_elliptic_follow_up_retrieves_without_a_round_before(text):
    small_talk = SpokenRound(said="hello", answered="Hi! How can I help?")
    assert decide_by_rules(text) == decide_by_rules(text, small_talk) == GateDecision(retrieve=True, reason="follow_up")


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Make it shorter."),
        ("en", "now in French"),
        ("vi", "ngắn hơn đi"),
        ("ru", "теперь короче"),
        ("zh", "换成法语"),
    ],
)
def test_a_change_to_a_task_needs_no_memory(lang, text):
    assert decide_by_rules(text, GENERAL[lang]) == GateDecision(retrieve=False, reason="change")
    assert decide_by_rules(text, OWN[lang]).reason != "change"


@pytest.mark.parametrize(("text", "lang"), [("Yes.", "en"), ("Dạ không", "vi"), ("нет", "ru"), ("没有", "zh")])
def test_an_answer_to_a_question_about_the_person_retrieves(text, lang):
    asked = SpokenRound(said=OWN[lang].said, answered="… ?")
    assert decide_by_rules(text, asked) == GateDecision(retrieve=True, reason="answer")
    assert not decide_by_rules(text, OWN[lang]).retrieve
    assert not decide_by_rules(text).retrieve


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "offer", ["Shall I tell you more?", "Рассказать подробнее?", "Bạn muốn biết thêm không?", "要不要我继续讲？"]
)
def test_an_answer_to_an_offer_does_not(offer):
    assert not decide_by_rules("yes", SpokenRound(said=OWN["en"].said, answered=f"On Tuesday. {offer}")).retrieve


def test_a_question_to_the_person_may_follow_on_a_general_one():
    asked = SpokenRound(said=GENERAL["en"].said, answered="Worms mostly. Is yours an adult?")
    assert decide_by_rules("Nope, half grown.", asked) == GateDecision(retrieve=True, reason="short_answer")


@pytest.mark.parametrize(
    "text",
    ["That explains the smell in the cellar.", "Hèn chi nhà hay ẩm.", "Вот почему тесто не встаёт.", "怪不得花都蔫了"],
)
def test_what_a_general_answer_explains_is_about_the_person(text):
    assert decide_by_rules(text, GENERAL["en"]) == GateDecision(retrieve=True, reason="now_clear")


def test_a_short_answer_that_no_rule_knows_retrieves_too():
    asked = SpokenRound(said="The ringing kept me up.", answered="Is it in both ears?")
    assert decide_by_rules("Only the left.", asked) == GateDecision(retrieve=True, reason="short_answer")


@pytest.mark.parametrize("answer", ["You said Lima.", "Вы говорили, что Лима.", "Bạn từng kể là Lima.", "您说是利马。"])
def test_an_answer_that_tells_what_the_person_has_said_makes_the_round_theirs(answer):
    before = SpokenRound(said="What is the capital of Peru?", answered=answer)
    assert decide_by_rules("And the second one?", before).retrieve


@pytest.mark.parametrize("text", ["thanks!", "ok", "спасибо", "好的", "cảm ơn nhé", "Translate 'good night' into Thai"])
def test_thanks_and_tasks_need_no_round(text):
    assert not decide_by_rules(text, OWN["en"]).retrieve


@pytest.mark.slow
def test_what_rules_leave_open_about_the_round_before_is_the_persons():
    """Nothing of it is embedded; what this process has decided about it counts."""
    before = SpokenRound(said="At how many degrees does tin melt?", answered="At 232 °C.")
    assert decide_by_rules(before.said).reason == "unsure"
    assert decide_by_rules("And in Fahrenheit?", before).retrieve
    decide(before.said)
    assert not decide("And in Fahrenheit?", before).retrieve


@pytest.mark.slow
def test_the_round_before_is_not_embedded(monkeypatch):
    embedded = []
    embed = LocalEmbeddings.embed_query
    monkeypatch.setattr(LocalEmbeddings, "embed_query", lambda self, text: embedded.append(text) or embed(self, text))
    decide("somewhat greenish", SpokenRound(said="a place with cliffs and gulls", answered="I see."))
    assert embedded == ["somewhat greenish"]


def test_only_the_last_decisions_are_remembered(monkeypatch):
    monkeypatch.setattr("discreet.nodes.memory_gate.prototypes.MAX_REMEMBERED", 2)
    neighbours = Neighbours(())
    monkeypatch.setattr(neighbours, "_score", lambda _text, _after: None)
    for text in "abc":
        neighbours.decide(text)
    assert [neighbours.remembered(text) is None for text in "abc"] == [True, False, False]


def test_rules_of_ones_own_may_look_at_the_round_before():
    own = """
[[rules]]
name = "lamp"
match = "anywhere"
by_round = true
after = ["general", "personal"]
en = ["lamp"]
"""
    decide_own = make_decide([*load_rules(own), *default_rules()])
    assert decide_own("lamp", OWN["en"]) == GateDecision(retrieve=True, reason="lamp")
    assert decide_own("lamp", GENERAL["en"]) == GateDecision(retrieve=False, reason="lamp")
    assert decide_own("lamp").reason != "lamp"


@pytest.mark.parametrize(
    "text",
    [
        "What do you know about me?",
        "So what have you noted so far?",
        "Что ты уже обо мне знаешь?",
        "bạn biết gì về mình rồi",
        "你都记住了什么",
        "Did it help?",
        "полегчало?",
        "Có đỡ không?",
        "那药管用吗",
        "虾能吃吗",
    ],
)
def test_questions_about_the_person_that_do_not_name_them_retrieve(text):
    assert decide_by_rules(text).retrieve
    assert decide_by_rules(text).reason != "unsure"


@pytest.mark.parametrize(
    "text",
    [
        "I have keys but open no locks. What am I?",
        "Сто одёжек, и все без застёжек. Кто я?",
        "Play a grumpy wizard and greet the king",
        "Viết lời thoại cho anh lính sắp về phép",
        "扮演一只会说话的猫",
        "You know, I never knew this: which planet is the biggest?",
        "你知道吗，章鱼有几个心脏？",
    ],
)
def test_riddles_and_parts_say_i_and_mean_somebody_else(text):
    assert not decide_by_rules(text).retrieve


@pytest.mark.parametrize(
    "text",
    [
        "太长了，" * 30 + "改",
        "now then but " * 12,
        "теперь а " * 17,
        "có " * 50 + "không",
        "yes " * 40,
        "嗯" * 150 + "x",
    ],
)
@pytest.mark.parametrize("times", [1, 100])
def test_hostile_follow_ups_are_decided(text, times):
    for before in (OWN["en"], GENERAL["en"], SpokenRound(said=text * times, answered=f"{text * times}?")):
        assert decide_by_rules(text * times, before).reason
