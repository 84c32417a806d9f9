"""Impacts of BM25 under hashed token ids."""

from __future__ import annotations

import random
from functools import partial

import pytest

from discreet.access.identity import Identities
from discreet.access.user_keys import UserKeys
from discreet.retrieval import lexical
from discreet.retrieval.lexical import CONTEXT, MARK_WEIGHT, MAX_QUERY_TOKENS, MAX_TOKENS, impacts, own_part

DIGEST = UserKeys(Identities(bytes(32))).token_digest
token_id = partial(lexical.token_id, digest=DIGEST)
token_ids = partial(lexical.token_ids, digest=DIGEST)
read_question = partial(lexical.read_question, digest=DIGEST)


def test_a_token_has_the_same_id_in_every_process_that_has_the_key():
    assert token_id("parrot") == 183273400
    assert 0 <= token_id("попуга") < CONTEXT
    assert lexical.token_id("parrot", UserKeys(Identities(bytes([1]) * 32)).token_digest) != token_id("parrot")


def parts(weights):
    """Return the impacts of a text's own tokens, and those of its neighbours by the tokens."""
    own = own_part(weights)
    return own, {token - CONTEXT: weight for token, weight in weights.items() if token not in own}


def test_a_repeated_word_weighs_more_but_less_than_twice():
    once = impacts(token_ids("parrot cage mango seed"))
    twice = impacts(token_ids("parrot parrot mango seed"))
    assert once[token_id("parrot")] < twice[token_id("parrot")] < 2 * once[token_id("parrot")]


def test_a_word_of_a_short_text_weighs_more_than_of_a_long_one():
    short = impacts(token_ids("parrot cage"))
    long = impacts(token_ids("parrot " + " ".join(f"word{n}" for n in range(40))))
    assert short[token_id("parrot")] > long[token_id("parrot")]


def test_words_of_neighbours_are_kept_apart_and_weigh_less():
    own, context = parts(impacts(token_ids("parrot"), [(1, token_ids("mango")), (2, token_ids("cage parrot"))]))
    assert set(own) == {token_id("parrot")}
    assert set(context) == {token_id("mango"), token_id("cage")}
    assert own[token_id("parrot")] > context[token_id("mango")] > context[token_id("cage")]


def test_no_text_has_more_tokens_than_the_index_holds_and_its_own_come_first():
    generator = random.Random(0)
    text = "".join(chr(generator.randrange(0x4E00, 0x9FFF)) for _ in range(4_000))
    own, context = parts(impacts(token_ids(text), [(1, token_ids("a neighbour speaks"))]))
    assert (len(own), context) == (MAX_TOKENS, {})
    own, context = parts(impacts(token_ids("parrot"), [(1, token_ids(text))]))
    assert len(own) + len(context) == MAX_TOKENS
    marks = {CONTEXT + 1: 1.0, CONTEXT + 2: 1.0}
    weights = impacts(token_ids(text), [(1, token_ids("a neighbour speaks"))], marks)
    assert (len(own_part(weights)), weights.items() - own_part(weights).items()) == (MAX_TOKENS - 2, marks.items())


def test_the_heaviest_tokens_are_kept():
    text = "parrot parrot parrot " + " ".join(f"word{n}" for n in range(1_000))
    assert token_id("parrot") in impacts(token_ids(text))


@pytest.mark.parametrize("blank", ["", " ", "!?", "the"])
def test_a_text_without_words_weighs_nothing(blank):
    assert impacts(token_ids(blank)) == {}


def test_a_question_counts_each_word_once_and_the_first_ones_only():
    assert read_question("parrot parrots PARROT").words == [token_id("parrot")]
    assert len(read_question(" ".join(f"word{n}" for n in range(1_000))).words) == MAX_QUERY_TOKENS


def test_the_words_of_a_question_weigh_one_together_by_their_rarity():
    question = read_question("Did Caroline see parrots in May 2023?")
    rarity = dict.fromkeys(question.words, 1.0) | {token_id("parrot"): 3.0}
    weights = question.weights(rarity)
    assert sum(weights[word] for word in question.words) == pytest.approx(1)
    assert weights[token_id("parrot")] == pytest.approx(3 * weights[token_id("carolin")])
    assert {weights[mark] for mark in question.marks} == {MARK_WEIGHT}


@pytest.mark.parametrize("blank", ["?!", "what is the"])
def test_a_question_without_words_weighs_nothing(blank):
    assert read_question(blank).weights({}) == {}


def test_words_and_marks_are_different_dimensions():
    question = read_question(" ".join(f"word{n} in May 2023" for n in range(100)))
    assert not set(question.words) & set(question.marks)
