import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.providers import embedding_provider
from discreet.providers.keywords import HALF, KeywordOnly
from discreet.retrieval.dedup import DedupThresholds
from discreet.settings import Settings

WORDS = KeywordOnly()


def settings(**values):
    return Settings(_env_file=None, **{"embedding_model": None, "embedding_dims": None, **values})


def cosine(one, other):
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


@given(st.text(), st.text())
def test_a_question_is_equally_far_from_every_text(question, text):
    (vector,) = WORDS.embed_documents([text])
    assert cosine(WORDS.embed_query(question), vector) == 0.0
    assert cosine(vector, vector) == pytest.approx(1.0)
    assert len(vector) == len(WORDS.embed_query(question)) == WORDS.dims


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keeps two parrots", " keeps  TWO parrots. "),
        ("Thích trà", "Thi\u0301ch tra\u0300"),
        ("Любит чай", "любит чай…"),
        ("喜欢喝茶", "喜欢喝茶。"),
        ("", "\0"),
    ],
)
def test_texts_that_differ_in_nothing_that_counts_are_equal(one, other):
    assert WORDS.embed_documents([one]) == WORDS.embed_documents([other])


def test_different_texts_are_never_near_enough_to_be_compared():
    """Of 2,000 texts, in pairs: cosines as of random directions in 32 dims, and none that dedup would look at."""
    facts = [f"{who} has {number} {what}" for who in ("Ann", "Bob") for number in range(100) for what in "abcdefghij"]
    matrix = np.array(WORDS.embed_documents(facts))
    cosines = (matrix @ matrix.T)[np.triu_indices(len(facts), 1)]
    assert abs(cosines.mean()) < 0.001
    assert cosines.std() == pytest.approx(1 / math.sqrt(HALF), rel=0.01)
    assert WORDS.calibration.similarity(float(cosines.max())) < DedupThresholds().least


def test_one_sign_or_digit_makes_another_text():
    vectors = WORDS.embed_documents(["C", "C++", "C#", "Has 1 cat", "Has 2 cats", "Likes tea?", "-5", "5"])
    assert max(cosine(*pair) for pair in combinations(vectors, 2)) < 0.9


async def test_the_faces_agree():
    assert await WORDS.aembed_query("x") == WORDS.embed_query("y")
    assert await WORDS.aembed_documents(["x", "y"]) == WORDS.embed_documents(["x", "y"])
    assert WORDS.embed_documents([]) == []


def test_the_vectors_of_this_recipe_stay_as_they_are():
    """They are compared with those that are stored: a change needs a new RECIPE."""
    (vector,) = WORDS.embed_documents(["Keeps two parrots"])
    assert WORDS.name == "none:keywords.1:64"
    assert [round(x, 4) for x in vector[:4]] == [0.0842, 0.0686, -0.2225, -0.1269]


@pytest.mark.parametrize("name", ["none", " None "])
def test_it_is_chosen_by_name(name):
    assert embedding_provider(name, settings=settings()).name == WORDS.name
    assert embedding_provider(settings=settings(embedding_model=name, embedding_dims=64)).name == WORDS.name


def test_another_vector_size_is_refused():
    with pytest.raises(ConfigurationError, match=r"64 dims: unset DISCREET_EMBEDDING_DIMS, which is 512\."):
        embedding_provider("none", settings=settings(embedding_dims=512))
