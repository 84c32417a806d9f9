"""The conformance suite of batches against all that Discreet has."""

from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from langchain_core.messages import AIMessage

from discreet.providers.batches import (
    AnthropicBatchProvider,
    GoogleBatchProvider,
    ImmediateBatchProvider,
    OpenAIBatchProvider,
    google,
)
from discreet.providers.retry import ModelRetry
from discreet.testing import StrictChatModel
from discreet.testing.batch_conformance import BatchProviderConformance, Bench, answer_of
from discreet.testing.batch_server import batch_server
from discreet.testing.batch_shelf import BatchShelf
from discreet.testing.batches import InMemoryBatchProvider

RETRY_SECONDS = 2.0


class TestInMemory(BatchProviderConformance):
    @asynccontextmanager
    async def opened(self, script):
        shelf = BatchShelf(answer_of, script)
        yield Bench(lambda: InMemoryBatchProvider(shelf=shelf), shelf)


class Served(BatchProviderConformance):
    provider = OpenAIBatchProvider

    @asynccontextmanager
    async def opened(self, script):
        seconds = 0.1 if script.overloaded > 100 or script.broken > 100 else RETRY_SECONDS
        with batch_server(answer_of, script=script) as server:
            async with AsyncExitStack() as opened:

                def another():
                    url = server.base_urls[self.provider.name]
                    made = self.provider(api_keys=["key-1"], base_url=url, retry_seconds=seconds)
                    opened.push_async_callback(made.aclose)
                    return made

                yield Bench(another, server.shelf)


class TestOpenAI(Served):
    pass


class TestAnthropic(Served):
    provider = AnthropicBatchProvider


class TestGoogle(Served):
    provider = GoogleBatchProvider

    @pytest.mark.skip("inline answers are no lines; those of files are below")
    async def test_lines_that_cant_be_read_are_left_out(self):
        pass

    @pytest.mark.skip("inline answers come in one piece, with the batch")
    async def test_results_that_break_off_are_an_error_that_passes(self):
        pass


@pytest.mark.slow
class TestGoogleByFile(Served):
    provider = GoogleBatchProvider

    @asynccontextmanager
    async def opened(self, script):
        before, google.INLINE_BYTES = google.INLINE_BYTES, 0
        try:
            async with super().opened(script) as bench:
                yield bench
        finally:
            google.INLINE_BYTES = before


class PromptFailedError(Exception):
    def __init__(self, status):
        self.status_code = status


class TestImmediate(BatchProviderConformance):
    @asynccontextmanager
    async def opened(self, script):
        def answer(messages):
            data = messages[-1].text
            if status := script.failing.get(data.rpartition("\u2028")[2]):
                raise PromptFailedError(status)
            usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
            return AIMessage(answer_of(data), usage_metadata=usage, response_metadata={"model_name": "echo-1"})

        def another():
            return ImmediateBatchProvider(StrictChatModel(answer=answer), retry=ModelRetry(seconds=0))

        yield Bench(another)
