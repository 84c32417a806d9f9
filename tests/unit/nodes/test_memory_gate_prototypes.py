import json
import logging
from itertools import chain
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from discreet.errors import MissingDependencyError
from discreet.nodes.memory_gate import (
    GateDecision,
    Prototype,
    decide,
    default_prototypes,
    default_rules,
    load_prototypes,
    load_rules,
    make_decide,
)
from discreet.nodes.memory_gate.prototypes import Neighbours, keys_of, read_stored
from discreet.providers.local import LocalEmbeddings, local_embeddings
from discreet.retrieval.embedded_question import embedded_question

OWN = """
[skip.stock]
en = ["is the blue lamp in stock", "how many chairs are in stock", "any sofas left in the shop"]
[retrieve.order]
en = ["where is the parcel", "has the order been sent", "when does the delivery come"]
"""


@pytest.mark.slow
def test_the_vectors_that_ship_are_those_of_the_prototypes():
    """If not, run tools/gate_vectors.py. They are rounded to 8 bits."""
    stored = read_stored(local_embeddings().name).vectors
    prototypes = default_prototypes()
    assert set(stored) == set(keys_of(prototypes))
    for prototype, key in list(zip(prototypes, keys_of(prototypes), strict=True))[::150]:
        vector = stored[key]
        cosine = (
            vector @ local_embeddings().embed_query(embedded_question(prototype.text)) / float((vector @ vector) ** 0.5)
        )
        assert cosine > 0.999


@pytest.mark.slow
def test_the_weights_that_ship_fit_their_prototypes():
    """The ridge leaves some on the wrong side; unfitted weights would leave half of them there."""
    gate = Neighbours(default_prototypes())
    some = default_prototypes()[::150]
    right = [gate.decide(prototype.text, prototype.after).retrieve == prototype.retrieve for prototype in some]
    assert sum(right) / len(right) > 0.9


def test_the_tuning_set_is_among_the_prototypes():
    """If not, run tools/gate_vectors.py."""
    sets = Path(__file__).parents[3] / "benchmarks" / "gate_sets"
    names = ("tune", "adversarial_tune", "adversarial_tune_b")
    lines = [(sets / f"{name}.jsonl").read_text(encoding="utf-8").splitlines() for name in names]
    known = {(prototype.text.casefold(), prototype.retrieve) for prototype in default_prototypes()}
    rows = map(json.loads, chain(*lines))
    assert {(row["text"].casefold(), row["label"] == "retrieve") for row in rows} <= known


def test_vectors_of_another_embedding_are_not_used():
    assert not read_stored("openai:text-embedding-3-small:512").vectors


def test_vietnamese_prototypes_are_also_taken_without_accents():
    texts = [p.text for p in load_prototypes('[skip.food]\nvi = ["Phở Đặc biệt"]\nen = ["café"]')]
    assert sorted(texts) == ["Phở Đặc biệt", "café", "pho dac biet"]


@pytest.mark.slow
def test_a_rule_of_ones_own_may_be_overruled_by_prototypes():
    weak = '[[rules]]\nname = "which"\nretrieve = false\nweak = true\nmatch = "start"\nen = ["which"]'
    school, planet = "Which school is our youngest at?", "Which planet has the most moons?"
    decide_own = make_decide(load_rules(weak), default_prototypes())
    assert decide_own(school).retrieve
    assert decide_own(planet) == GateDecision(retrieve=False, reason="which")
    strong = make_decide(load_rules(weak.replace("weak = true", "")), default_prototypes())
    assert strong(school) == GateDecision(retrieve=False, reason="which")


def test_what_a_rule_retrieves_is_not_embedded(monkeypatch):
    monkeypatch.setattr(LocalEmbeddings, "embed_query", lambda _self, _text: pytest.fail("embedded"))
    assert decide("What did I tell you last week about the garden?").reason == "earlier_talk"


def test_prototypes_of_ones_own_count_beside_those_that_ship():
    asked = "is the blue lamp in stock at the shop"
    own = make_decide([], [*load_prototypes(OWN), *default_prototypes()])
    assert own(asked).retrieve is False
    assert own("what happened to the parcel").retrieve is True


def test_no_prototype_stands_in_both_camps():
    keys = [prototype.key for prototype in default_prototypes()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("text", "retrieve"),
    [
        ("the rash has moved to the legs", True),
        ("any word from the landlord yet?", True),
        ("Сыпь уже на ногах", True),
        ("包裹寄到了吗", True),
        ("what do koalas eat", False),
        ("как устроен микроскоп", False),
        ("海豚是鱼吗", False),
    ],
)
def test_what_no_rule_decides_is_decided_by_what_it_is_like(text, retrieve):
    assert decide(text).retrieve is retrieve


def test_prototypes_are_data_that_users_extend():
    decide_own = make_decide([], load_prototypes(OWN))
    assert decide_own("are there red lamps in stock") == GateDecision(retrieve=False, reason="like_stock")
    assert decide_own("where's the parcel now") == GateDecision(retrieve=True, reason="like_order")


def test_a_prototype_may_be_said_after_a_kind_of_round():
    own = (
        OWN
        + """
[retrieve.stock.personal]
en = ["any left in the shop"]
[skip.stock.general]
en = ["any left in the shop"]
"""
    )
    loaded = load_prototypes(own)
    assert [p.after for p in loaded if p.text == "any left in the shop"] == ["general", "personal"]
    neighbours = Neighbours(loaded)
    assert neighbours.decide("any left in the shop?", "personal").retrieve
    assert not neighbours.decide("any left in the shop?", "general").retrieve
    beside = Neighbours([*loaded, *default_prototypes()])
    assert beside.decide("any left in the shop?", "personal").retrieve
    assert not beside.decide("any left in the shop?", "general").retrieve


def test_prototypes_that_disagree_are_unsure():
    both = Neighbours([Prototype("the lamp", retrieve=True, kind="a"), Prototype("a lamp", retrieve=False, kind="b")])
    assert both.decide("lamp") == GateDecision(retrieve=True, reason="unsure")


class Missing(LocalEmbeddings):
    def embed_query(self, text):
        raise MissingDependencyError("none here")


def failures():
    labels = {"part": "embedding", "cause": "MissingDependencyError"}
    return REGISTRY.get_sample_value("discreet_gate_failures_total", labels) or 0


def test_without_the_local_model_the_unsure_retrieves(caplog):
    before = failures()
    neighbours = Neighbours(default_prototypes(), embeddings=Missing())
    with caplog.at_level(logging.WARNING):
        assert [neighbours.decide("a secret question") for _ in range(2)] == [GateDecision(True, "unsure")] * 2
    assert caplog.messages == ["gate_embedding_failed cause=MissingDependencyError"]
    assert failures() == before + 2


def test_the_rules_need_no_embedding(monkeypatch):
    monkeypatch.setattr(LocalEmbeddings, "embed_query", Missing.embed_query)
    assert make_decide(default_rules(), default_prototypes())("hello").reason == "greeting"


@pytest.mark.parametrize("text", ["Where did the red bicycle go?", "What did Linh say of the red bicycle?"])
def test_the_retrieval_finds_the_vector_of_the_gate_in_the_cache(monkeypatch, text):
    decide(text)
    monkeypatch.setattr(LocalEmbeddings, "load", lambda _self: pytest.fail("embedded again"))
    assert len(local_embeddings().embed_query(embedded_question(text))) == local_embeddings().dims
