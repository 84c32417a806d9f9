import math

import pytest

from discreet.testing import StubEmbeddings


def cosine(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("dims", [8, 256, 1536])
@pytest.mark.parametrize("text", ["", "\0", "two parrots", "hai con vẹt", "два попугая", "两只鹦鹉"])
async def test_every_text_gets_the_same_unit_vector_each_time(dims, text):
    stub = StubEmbeddings(dims)
    vector = stub.embed_query(text)
    assert len(vector) == stub.dims == dims
    assert cosine(vector, vector) == pytest.approx(1.0)
    assert [vector] == stub.embed_documents([text]) == await stub.aembed_documents([text])
    assert vector == await StubEmbeddings(dims).aembed_query(text)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("my parrots", "parrots are loud", "a bank in Lyon"),
        ("con vẹt", "vẹt của tôi", "ngân hàng"),
        ("мой попугай", "попугай кричит", "банк"),
        ("我的鹦鹉", "鹦鹉很吵", "银行"),
    ],
)
def test_texts_that_share_words_are_nearer(query, near, far):
    stub = StubEmbeddings()
    vector = stub.embed_query(query)
    assert cosine(vector, stub.embed_query(near)) > cosine(vector, stub.embed_query(far))


def test_the_name_tells_the_size():
    assert StubEmbeddings(64).name == "stub:words:64"
    assert StubEmbeddings().calibration.similarity(0.6) == 0.6
