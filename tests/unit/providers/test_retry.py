"""How long a model that is overloaded is waited for, with a clock that does not tick."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import ModelAPIError, ModelConnectionError, ModelInvalidRequestError, ModelRateLimitError
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from discreet.metrics import model_fallbacks, model_retries
from discreet.providers.retry import ModelRetry, passing, retry_after
from discreet.testing import ScriptedChatModel

FINE = AIMessage("Hello.")


def limited(error=ModelRateLimitError, **headers):
    """Return what a client raises: 429, with the headers of the answer."""
    failure = error("ann@example.com")
    failure.response = SimpleNamespace(headers={name.replace("_", "-"): value for name, value in headers.items()})
    return failure


class Clock:
    def __init__(self):
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)


@pytest.fixture
def clock():
    return Clock()


def model(*responses):
    return ScriptedChatModel(responses=responses)


async def ask(clock, *models, **options):
    async def once(model, config):
        return (await model.ainvoke("Hi", config)).text

    return await ModelRetry(sleep=clock.sleep, **options).ask(models, once)


async def test_retry_after_is_honoured_to_the_second(clock):
    assert await ask(clock, model(limited(retry_after="7"), limited(retry_after_ms="1500"), FINE)) == "Hello."
    assert clock.slept == [7, 1.5]


async def test_without_a_word_from_the_provider_the_wait_is_short_and_random(clock):
    assert await ask(clock, model(limited(), ModelConnectionError("down"), FINE)) == "Hello."
    assert all(0 <= seconds <= 8 for seconds in clock.slept)


async def test_three_attempts_are_made(clock):
    busy = model(*[limited(retry_after="1")] * 9)
    with pytest.raises(ModelRateLimitError):
        await ask(clock, busy)
    assert len(busy.prompts) == 3


async def test_a_wait_beyond_the_bound_goes_to_the_fallback_at_once(clock):
    before = model_fallbacks.labels("ModelRateLimitError")._value.get()
    assert await ask(clock, model(limited(retry_after="21")), model(FINE)) == "Hello."
    assert clock.slept == []
    assert model_fallbacks.labels("ModelRateLimitError")._value.get() == before + 1


async def test_the_waits_are_bounded_together(clock):
    assert await ask(clock, model(*[limited(retry_after="12")] * 3), model(FINE)) == "Hello."
    assert clock.slept == [12]


@pytest.mark.parametrize("failure", [ModelAPIError("503"), ModelConnectionError("refused"), TimeoutError()])
async def test_a_server_that_is_down_is_asked_again_and_then_the_fallback(clock, failure):
    down = model(*[failure] * 3)
    assert await ask(clock, down, model(FINE)) == "Hello."
    assert len(down.prompts) == 3


async def test_a_fallback_that_fails_too_is_the_error(clock):
    with pytest.raises(ModelConnectionError):
        await ask(clock, model(*[limited()] * 3), model(*[ModelConnectionError("down")] * 3))


@pytest.mark.parametrize("failure", [ModelInvalidRequestError("400"), ValueError("no")])
async def test_what_does_not_pass_is_raised_at_once(clock, failure):
    spare = model(FINE)
    with pytest.raises(type(failure)):
        await ask(clock, model(failure), spare)
    assert clock.slept == spare.prompts == []


async def test_no_seconds_is_no_waiting(clock):
    busy = model(*[limited(retry_after="1")] * 3)
    with pytest.raises(ModelRateLimitError):
        await ask(clock, busy, seconds=0)
    assert clock.slept == []


class Breaking(ScriptedChatModel):
    """Breaks off after its first chunk."""

    chunk: AIMessageChunk

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        self._next(messages, kwargs)
        yield ChatGenerationChunk(message=self.chunk)
        raise ModelConnectionError("broken off")


async def streamed(model, config):
    return "".join([chunk.text async for chunk in model.astream("Hi", config)])


CALLED = {"name": "look", "args": "{", "id": "c1", "index": 0}


@pytest.mark.parametrize("chunk", [AIMessageChunk("Hel"), AIMessageChunk("", tool_call_chunks=[CALLED])])
async def test_who_has_seen_the_first_words_gets_no_second_answer(clock, chunk):
    breaking, spare = Breaking(responses=[FINE] * 3, chunk=chunk), model(FINE)
    with pytest.raises(ModelConnectionError):
        await ModelRetry(sleep=clock.sleep).ask([breaking, spare], streamed)
    assert (len(breaking.prompts), spare.prompts) == (1, [])


async def test_a_stream_that_breaks_before_its_first_word_is_asked_for_again(clock):
    """Streams of OpenAI's protocol begin with a role and no word."""
    breaking = Breaking(responses=[FINE] * 3, chunk=AIMessageChunk(""))
    assert await ModelRetry(sleep=clock.sleep).ask([breaking, model(FINE)], streamed) == "Hello."
    assert len(breaking.prompts) == 3


async def test_a_client_with_retries_of_its_own_is_asked_once(clock):
    class Retrying(ScriptedChatModel):
        max_retries: int = 2

    retrying = Retrying(responses=[limited(retry_after="1")] * 3)
    assert await ask(clock, retrying, model(FINE)) == "Hello."
    assert len(retrying.prompts) == 1


async def test_the_callbacks_of_the_run_stay(clock):
    class Seeing(BaseCallbackHandler):
        run_inline = True
        seen = 0

        def on_chat_model_start(self, *_args, **_kwargs):
            self.seen += 1

    seeing = Seeing()

    async def once(model, config):
        return (await model.ainvoke("Hi", {**config, "callbacks": [*config["callbacks"], seeing]})).text

    assert await ModelRetry(sleep=clock.sleep).ask([model(limited(), FINE)], once) == "Hello."
    assert seeing.seen == 2


async def test_log_and_metric_tell_the_class_of_the_failure_and_no_text(clock, caplog):
    before = model_retries.labels("ModelRateLimitError")._value.get()
    await ask(clock, model(limited(retry_after="2"), FINE))
    assert model_retries.labels("ModelRateLimitError")._value.get() == before + 1
    assert "model_retry cause=ModelRateLimitError attempt=1 wait=2.0" in caplog.text
    assert "ann@example.com" not in caplog.text


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:09 GMT"}, 9),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:09 -0000"}, 9),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "1", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers, seconds):
    error = RuntimeError()
    error.response = SimpleNamespace(headers=headers)
    assert retry_after(error, now=NOW) == seconds


@pytest.mark.parametrize(
    ("values", "passes"),
    [
        ({"status_code": 429}, True),
        ({"status_code": 529}, True),
        ({"status_code": 408}, True),
        ({"status_code": 401}, False),
        ({"code": 503}, True),
        ({"code": "insufficient_quota", "status_code": 429}, True),
        ({"code": "invalid_api_key"}, False),
        ({}, False),
    ],
)
def test_errors_of_other_clients_are_told_by_their_status(values, passes):
    error = RuntimeError()
    vars(error).update(values)
    assert passing(error) is passes
