"""Asking a model that fails."""

from __future__ import annotations

import pytest

from discreet.errors import ProviderError
from discreet.storage.memories.spaces import retry
from discreet.storage.memories.spaces.retry import embed_with_retries
from discreet.testing import StubEmbeddings


class Moody(StubEmbeddings):
    """Fails as often as it is told, and always for some texts."""

    def __init__(self, fails=0, refuses=()):
        super().__init__(8)
        self.fails, self.refuses, self.calls = fails, refuses, 0

    async def aembed_documents(self, texts):
        self.calls += 1
        if self.calls <= self.fails or set(texts) & set(self.refuses):
            raise ProviderError
        return await super().aembed_documents(texts)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(retry, "LONGEST_WAIT_SECONDS", 0.0)


async def test_a_model_that_recovers_is_waited_for():
    model = Moody(fails=retry.ATTEMPTS - 1)
    assert None not in await embed_with_retries(model, ["a", "b"])
    assert model.calls == retry.ATTEMPTS


async def test_a_refused_text_has_no_vector_and_the_others_have_theirs():
    vectors = await embed_with_retries(Moody(refuses={"b"}), ["a", "b", "c"])
    assert vectors == [StubEmbeddings(8).embed_query("a"), None, StubEmbeddings(8).embed_query("c")]


@pytest.mark.parametrize("texts", [["a"], ["a", "b"], list("abcdefgh")])
async def test_a_model_that_is_down_is_asked_a_bounded_number_of_times(texts):
    model = Moody(fails=10**6)
    with pytest.raises(ProviderError):
        await embed_with_retries(model, texts)
    assert model.calls <= retry.ATTEMPTS + retry.PROBES
