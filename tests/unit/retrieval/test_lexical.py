"""Impacts of BM25 under hashed token ids."""

from __future__ import annotations

import random

import pytest

from discreet.retrieval.lexical import DIMS, MAX_QUERY_TOKENS, MAX_TOKENS, impacts, query_token_ids, token_id, token_ids


def test_a_token_has_the_same_id_in_every_process():
    assert token_id("parrot") == 503112955
    assert 0 <= token_id("попуга") < DIMS


def test_a_repeated_word_weighs_more_but_less_than_twice():
    once, _ = impacts(token_ids("parrot cage mango seed"))
    twice, _ = impacts(token_ids("parrot parrot mango seed"))
    assert once[token_id("parrot")] < twice[token_id("parrot")] < 2 * once[token_id("parrot")]


def test_a_word_of_a_short_text_weighs_more_than_of_a_long_one():
    short, _ = impacts(token_ids("parrot cage"))
    long, _ = impacts(token_ids("parrot " + " ".join(f"word{n}" for n in range(40))))
    assert short[token_id("parrot")] > long[token_id("parrot")]


def test_words_of_neighbours_are_kept_apart_and_weigh_less():
    own, context = impacts(token_ids("parrot"), [token_ids("mango"), token_ids("cage parrot")])
    assert set(own) == {token_id("parrot")}
    assert set(context) == {token_id("mango"), token_id("cage")}
    assert min(own.values()) > max(context.values())


def test_no_text_has_more_tokens_than_the_index_holds_and_its_own_come_first():
    generator = random.Random(0)
    text = "".join(chr(generator.randrange(0x4E00, 0x9FFF)) for _ in range(4_000))
    own, context = impacts(token_ids(text), [token_ids("a neighbour speaks")])
    assert (len(own), context) == (MAX_TOKENS, {})
    own, context = impacts(token_ids("parrot"), [token_ids(text)])
    assert len(own) + len(context) == MAX_TOKENS


def test_the_heaviest_tokens_are_kept():
    text = "parrot parrot parrot " + " ".join(f"word{n}" for n in range(1_000))
    assert token_id("parrot") in impacts(token_ids(text))[0]


@pytest.mark.parametrize("blank", ["", " ", "!?", "the"])
def test_a_text_without_words_weighs_nothing(blank):
    assert impacts(token_ids(blank)) == ({}, {})


def test_a_question_counts_each_word_once_and_the_first_ones_only():
    assert query_token_ids("parrot parrots PARROT") == [token_id("parrot")]
    assert len(query_token_ids(" ".join(f"word{n}" for n in range(1_000)))) == MAX_QUERY_TOKENS
