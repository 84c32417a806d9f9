import logging

import pytest
from prometheus_client import REGISTRY

from discreet.errors import MissingDependencyError
from discreet.nodes.memory_gate import GateDecision, decide, default_rules, load_rules, make_decide
from discreet.ports import SpokenRound
from discreet.providers.local import LocalEmbeddings, local_embeddings
from discreet.retrieval.embedded_question import embedded_question

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


@pytest.mark.parametrize(
    ("text", "retrieve"),
    [
        ("the rash has moved to the legs", True),
        ("any word from the landlord yet?", True),
        ("Сыпь уже на ногах", True),
        ("包裹寄到了吗", True),
        ("đau lưng quá", True),
        ("what do koalas eat", False),
        ("What is COPD?", False),
        ("как устроен микроскоп", False),
        ("海豚是鱼吗", False),
        ("who are you", False),
        ("почему небо голубое", False),
    ],
)
def test_what_no_rule_decides_is_scored(text, retrieve):
    assert decide(text).retrieve is retrieve


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "And how long does that take?"),
        ("en", "Thanks! And where is it?"),
        ("vi", "Thế còn cái thứ hai?"),
        ("ru", "А второй?"),
        ("zh", "那第二个呢？"),
    ],
)
def test_a_follow_up_is_about_what_the_round_before_was_about(lang, text):
    assert decide(text, OWN[lang]).retrieve
    assert not decide(text, GENERAL[lang]).retrieve
    assert decide(text).retrieve
    assert decide(text, SpokenRound(said="hello", answered="Hi! How can I help?")).retrieve


@pytest.mark.parametrize("answer", ["You said Lima.", "Вы говорили, что Лима.", "Bạn từng kể là Lima.", "您说是利马。"])
def test_an_answer_that_tells_what_the_person_has_said_makes_the_round_theirs(answer):
    assert decide("And the second one?", SpokenRound(said="What is the capital of Peru?", answered=answer)).retrieve


@pytest.mark.parametrize(("text", "lang"), [("Yes.", "en"), ("Dạ không", "vi"), ("нет", "ru"), ("没有", "zh")])
def test_an_answer_to_a_question_about_the_person_retrieves(text, lang):
    assert decide(text, SpokenRound(said=OWN[lang].said, answered="… ?")).retrieve
    assert not decide(text, OWN[lang]).retrieve
    assert not decide(text).retrieve


@pytest.mark.parametrize(
    "offer", ["Shall I tell you more?", "Рассказать подробнее?", "Bạn muốn biết thêm không?", "要不要我继续讲？"]
)
def test_an_answer_to_an_offer_does_not(offer):
    assert not decide("yes", SpokenRound(said=OWN["en"].said, answered=f"On Tuesday. {offer}")).retrieve


@pytest.mark.parametrize("text", ["thanks!", "ok", "спасибо", "好的", "cảm ơn nhé", "Translate 'good night' into Thai"])
def test_thanks_and_tasks_need_no_round(text):
    assert not decide(text, OWN["en"]).retrieve


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["太长了，" * 30 + "改", "now then but " * 12, "có " * 50 + "không", "yes " * 40, "嗯" * 150 + "x"]
)
@pytest.mark.parametrize("times", [1, 100])
def test_hostile_follow_ups_are_decided(text, times):
    for before in (OWN["en"], GENERAL["en"], SpokenRound(said=text * times, answered=f"{text * times}?")):
        assert decide(text * times, before).reason


def test_a_weak_rule_is_overruled_by_a_score_that_clearly_says_the_opposite():
    weak = '[[rules]]\nname = "which"\nretrieve = false\nweak = true\nmatch = "start"\nen = ["which"]'
    school, planet = "Which school is our youngest at?", "Which planet has the most moons?"
    decide_own = make_decide(load_rules(weak))
    assert decide_own(school).retrieve
    assert decide_own(planet) == GateDecision(retrieve=False, reason="which")
    strong = make_decide(load_rules(weak.replace("weak = true", "")))
    assert strong(school) == GateDecision(retrieve=False, reason="which")


@pytest.mark.parametrize("text", ["What did I tell you last week about the garden?", "hello", "thanks!"])
def test_what_a_rule_decides_is_not_embedded(monkeypatch, text):
    monkeypatch.setattr(LocalEmbeddings, "embed_query", lambda _self, _text: pytest.fail("embedded"))
    assert decide(text).reason in {"earlier_talk", "greeting", "thanks"}


@pytest.mark.parametrize("text", ["Where did the red bicycle go?", "What did Linh say of the red bicycle?"])
def test_the_retrieval_finds_the_vector_of_the_gate_in_the_cache(monkeypatch, text):
    decide(text)
    monkeypatch.setattr(LocalEmbeddings, "load", lambda _self: pytest.fail("embedded again"))
    assert len(local_embeddings().embed_query(embedded_question(text))) == local_embeddings().dims


def failures(cause):
    return REGISTRY.get_sample_value("discreet_gate_failures_total", {"part": "embedding", "cause": cause}) or 0


def test_without_the_local_model_the_unsure_retrieves(monkeypatch, caplog):
    def missing(_self, _text):
        raise MissingDependencyError("none here")

    monkeypatch.setattr(LocalEmbeddings, "embed_query", missing)
    before = failures("MissingDependencyError")
    with caplog.at_level(logging.WARNING):
        assert [decide("a secret question") for _ in range(2)] == [GateDecision(True, "unsure")] * 2
    assert caplog.messages in ([], ["gate_embedding_failed cause=MissingDependencyError"])  # once a process
    assert failures("MissingDependencyError") == before + 2
    assert make_decide(default_rules())("hello").reason == "greeting"


def test_weights_of_another_embedding_are_not_used(monkeypatch):
    monkeypatch.setattr(LocalEmbeddings, "name", "local:another:384")
    before = failures("other_embedding")
    assert decide("where is the red bicycle") == GateDecision(True, "unsure")
    assert failures("other_embedding") == before + 1
