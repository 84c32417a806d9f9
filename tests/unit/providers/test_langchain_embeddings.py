import math

import pytest
from langchain_core.embeddings import Embeddings

from discreet.errors import ProviderError
from discreet.ports import Calibration
from discreet.providers import from_langchain


class Fixed(Embeddings):
    """Returns `vector` for every text and records the texts."""

    def __init__(self, vector):
        self.vector = vector
        self.seen = []

    def embed_documents(self, texts):
        self.seen += texts
        return [self.vector for _ in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class Failing(Embeddings):
    def embed_documents(self, texts):
        raise RuntimeError(f"can't take {texts}")

    def embed_query(self, text):
        raise RuntimeError(f"can't take {text}")


def provider(embeddings, dims=2):
    return from_langchain(embeddings, name="their:model", dims=dims, calibration=Calibration(zero=0.5, one=1.0))


async def all_vectors(embeddings, text):
    return [
        embeddings.embed_query(text),
        *embeddings.embed_documents([text]),
        await embeddings.aembed_query(text),
        *await embeddings.aembed_documents([text]),
    ]


async def test_vectors_come_back_at_length_one_on_every_way():
    for vector in await all_vectors(provider(Fixed([3.0, 4.0])), "parrots"):
        assert vector == pytest.approx([0.6, 0.8])


def test_it_carries_its_name_size_and_calibration():
    theirs = provider(Fixed([3.0, 4.0]))
    assert (theirs.name, theirs.dims, theirs.calibration.similarity(0.75)) == ("their:model:2", 2, 0.5)


async def test_the_model_never_sees_a_nul_a_lone_surrogate_or_nothing():
    fixed = Fixed([1.0, 0.0])
    for text in ("a\0b", "\ud800", ""):
        await all_vectors(provider(fixed), text)
    assert set(fixed.seen) == {"ab", "�", " "}


@pytest.mark.parametrize("vector", [[1.0], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
async def test_a_vector_of_no_use_is_an_error(vector):
    theirs = provider(Fixed(vector))
    with pytest.raises(ProviderError):
        theirs.embed_query("x")
    with pytest.raises(ProviderError):
        await theirs.aembed_documents(["x"])


async def test_no_texts_cost_no_call():
    theirs = provider(Failing())
    assert theirs.embed_documents([]) == await theirs.aembed_documents([]) == []


def test_too_few_vectors_are_an_error():
    fixed = Fixed([1.0, 0.0])
    fixed.embed_documents = lambda texts: []
    with pytest.raises(ProviderError, match="0 vectors for 1 texts"):
        provider(fixed).embed_documents(["x"])


async def test_failures_are_named_and_chained_and_hold_no_text():
    theirs = provider(Failing())
    for fails in (lambda: theirs.embed_query("SECRET"), lambda: theirs.embed_documents(["SECRET"])):
        with pytest.raises(ProviderError, match="their:model:2 failed: RuntimeError") as caught:
            fails()
        assert "SECRET" not in str(caught.value)
        assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(ProviderError):
        await theirs.aembed_query("SECRET")
