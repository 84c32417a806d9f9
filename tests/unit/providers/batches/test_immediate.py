"""Prompts that are asked for one by one."""

import asyncio
import json

import pytest
from langchain_core.exceptions import ModelAuthenticationError, ModelInvalidRequestError, ModelRateLimitError
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.constants import TAG_NOSTREAM

from discreet.errors import ConfigurationError
from discreet.providers.batches import ImmediateBatchProvider
from discreet.providers.batches.immediate import json_in
from discreet.providers.offline import OfflineChatModel
from discreet.providers.retry import ModelRetry
from discreet.testing import ScriptedChatModel, StrictChatModel

QUICK = ModelRetry(seconds=0)


class Structured(StrictChatModel):
    """Has a server that takes schemas, or refuses them."""

    bound: list = []  # noqa: RUF012  # a pydantic field
    refuses: bool = False

    def with_structured_output(self, schema, *, method, include_raw):
        assert (method, include_raw) == ("json_schema", True)
        self.bound.append(schema)

        async def answer(prompt, config):
            if self.refuses:
                raise ModelInvalidRequestError("no response_format here")
            return {"raw": AIMessage('{"a": "bound"}'), "parsed": None, "parsing_error": None}

        return RunnableLambda(answer)


async def results(provider, requests):
    batch_id = await provider.submit("job-1", "ignored", requests)
    return [each async for each in provider.results(batch_id)]


async def test_a_model_is_bound_to_the_schema_if_it_can_be(ask):
    model = Structured(answer=lambda messages: AIMessage("{}"))
    (result,) = await results(ImmediateBatchProvider(model), ask(1))
    assert (result.text, model.prompts) == ('{"a": "bound"}', [])
    assert model.bound[0]["title"] == "answer"


async def test_a_model_whose_server_refuses_schemas_is_told_of_it(ask):
    model = Structured(answer=lambda messages: AIMessage('Sure:\n```json\n{"a": "told"}\n```'), refuses=True)
    provider = ImmediateBatchProvider(model, concurrency=1)
    assert [each.text for each in await results(provider, ask(3))] == ['{"a": "told"}'] * 3
    assert len(model.bound) == 1
    assert json.dumps(ask()[0].schema) in model.prompts[0][0].text


async def test_a_model_that_can_be_bound_to_nothing_is_told_of_the_schema(ask):
    model = FakeListChatModel(responses=['Well: {"a": "told"}'])
    assert (await results(ImmediateBatchProvider(model), ask(1)))[0].text == '{"a": "told"}'


async def test_the_offline_model_says_that_it_fills_no_schema(ask):
    with pytest.raises(ConfigurationError, match="offline model"):
        await results(ImmediateBatchProvider(OfflineChatModel()), ask(1))


async def test_an_answer_as_a_call_of_a_tool_is_its_arguments(ask):
    call = {"name": "answer", "args": {"a": "called"}, "id": "1"}
    model = StrictChatModel(answer=lambda messages: AIMessage("", tool_calls=[call]))
    assert (await results(ImmediateBatchProvider(model), ask(1)))[0].text == '{"a": "called"}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('<think>{"a": 0}</think>\n{"a": 1}', '{"a": 1}'),
        ('Here:\n```json\n{"a": 1}\n```\nBye.', '{"a": 1}'),
        ('Here:\n```\n[{"a": 1}]\n```', '[{"a": 1}]'),
        ('So {it} is: {"a": {"b": "}"}} and done', '{"a": {"b": "}"}}'),
        ("I would rather not.", "I would rather not."),
        ('{"a": ', '{"a":'),
        ("{" * 10_000, "{" * 10_000),
    ],
)
def test_json_is_found_in_what_a_model_says(text, found):
    assert json_in(text) == found


@pytest.mark.parametrize(
    ("told", "error", "is_final"),
    [
        ({"finish_reason": "length"}, "length", False),
        ({"stop_reason": "max_tokens"}, "length", False),
        ({"finish_reason": "MAX_TOKENS"}, "length", False),
        ({"finish_reason": "content_filter"}, "refusal", True),
        ({"stop_reason": "refusal"}, "refusal", True),
    ],
)
async def test_an_answer_that_was_cut_or_refused_is_none(ask, told, error, is_final):
    model = StrictChatModel(answer=lambda messages: AIMessage('{"a": "', response_metadata=told))
    (result,) = await results(ImmediateBatchProvider(model), ask(1))
    assert (result.state, result.text, result.error, result.is_final) == ("failed", None, error, is_final)


async def test_the_fallback_answers_while_the_model_is_overloaded(ask):
    model = ScriptedChatModel(responses=[ModelRateLimitError("busy")] * 9)
    fallback = ScriptedChatModel(responses=[AIMessage("{}")] * 2)
    provider = ImmediateBatchProvider(model, fallback=fallback, retry=QUICK)
    assert [each.state for each in await results(provider, ask(2))] == ["succeeded"] * 2


async def test_what_was_busy_may_be_asked_for_again_and_what_is_refused_not(ask):
    for failure, is_final in ((ModelRateLimitError("Ann"), False), (ModelInvalidRequestError("Ann"), True)):
        provider = ImmediateBatchProvider(ScriptedChatModel(responses=[failure] * 9), retry=QUICK)
        (result,) = await results(provider, ask(1))
        assert (result.state, result.is_final) == ("failed", is_final)
        assert "Ann" not in repr(result)


async def test_a_key_that_is_refused_is_an_error_of_settings(ask):
    provider = ImmediateBatchProvider(ScriptedChatModel(responses=[ModelAuthenticationError("key")] * 9))
    with pytest.raises(ConfigurationError):
        await results(provider, ask(2))


class Slow(StrictChatModel):
    running: int = 0
    most: int = 0
    ended: int = 0

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        assert TAG_NOSTREAM in run_manager.tags
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.01)
        finally:
            self.running -= 1
            self.ended += 1
        return self._generate(messages)


async def test_a_bounded_number_is_asked_for_at_once(ask):
    model = Slow(answer=lambda messages: AIMessage("{}"))
    assert len(await results(ImmediateBatchProvider(model, concurrency=3), ask(10))) == 10
    assert model.most == 3


async def test_who_stops_reading_stops_asking_and_pays_for_nothing_twice(ask):
    model = Slow(answer=lambda messages: AIMessage("{}"))
    provider = ImmediateBatchProvider(model, concurrency=1)
    batch_id = await provider.submit("job-1", "m", ask(4))
    reading = provider.results(batch_id)
    await anext(reading)
    await reading.aclose()
    assert model.running == 0
    before = len(model.prompts)
    assert len([each async for each in provider.results(batch_id)]) == 4
    assert len(model.prompts) == before + 3


async def test_what_was_cancelled_is_not_asked_for(ask):
    model = Slow(answer=lambda messages: AIMessage("{}"))
    provider = ImmediateBatchProvider(model, concurrency=1)
    batch_id = await provider.submit("job-1", "m", ask(3))
    reading = provider.results(batch_id)
    states = [(await anext(reading)).state]
    await provider.cancel(batch_id)
    states += [each.state async for each in reading]
    assert states == ["succeeded", "cancelled", "cancelled"]
    assert len(model.prompts) == 1


async def test_another_process_knows_no_batch_of_this_one(ask):
    provider, another = (ImmediateBatchProvider(OfflineChatModel()) for _ in range(2))
    batch_id = await provider.submit("job-1", "m", ask())
    assert (await provider.status(batch_id)).state == "ended"
    assert (await another.status(batch_id)).state == "vanished"
    assert await provider.find("job-1", [], None) == batch_id
    assert await another.find("job-1", [], None) is None
    await provider.aclose()
    assert (await provider.status(batch_id)).state == "vanished"
