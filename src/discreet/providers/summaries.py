"""What makes a short text of rounds: a chat model, or rules that pick the user's own words."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.constants import TAG_NOSTREAM

from discreet.errors import ProviderError
from discreet.metrics import summary_failures
from discreet.ports import SpokenRound, SummaryProvider, TokenCounter
from discreet.prompts.summaries import render_rolling_summary
from discreet.prompts.texts import prompt_id, prompt_text
from discreet.providers.capabilities import name_of, window_of
from discreet.providers.extractive import ExtractiveSummaryProvider
from discreet.providers.sentences import shortened
from discreet.providers.tokens import count_tokens
from discreet.state.message_text import spoken_text
from discreet.state.records import Provenance

__all__ = ["ChatModelSummaryProvider", "ExtractiveSummaryProvider", "SummaryInTime", "summary_provider_for"]

logger = logging.getLogger(__name__)

MAX_CHARS = 24_000
"""Of the rounds in one prompt: some 6,000 tokens of English. Of a model's window they take at most a character a token, which
is what Chinese needs."""

BESIDE = 1_000
"""Tokens of the window for the instruction, the earlier summary and the answer."""

_CUT_HEAD = re.compile(r"<[A-Z0-9_:]*$")
_CUT_TAIL = re.compile(r"^[A-Z0-9_:]*>")


def summary_provider_for(
    model: BaseChatModel, *, count_tokens: TokenCounter = count_tokens, window: int | None = None
) -> SummaryProvider:
    """Return what summarises where `model` answers: the model itself; rules where it is the offline model.

    `window` are the tokens that the model takes; default: as its LangChain profile says.
    """
    from discreet.providers.offline import OfflineChatModel  # its rules, which other models do without

    if isinstance(model, OfflineChatModel):
        return ExtractiveSummaryProvider(count_tokens=count_tokens)
    window = window or window_of(model)
    most = MAX_CHARS if window is None else min(MAX_CHARS, max(window - BESIDE, window // 2))
    return ChatModelSummaryProvider(model, count_tokens=count_tokens, max_chars=most)


class ChatModelSummaryProvider:
    """Asks a chat model, once a summary."""

    def __init__(
        self, model: BaseChatModel, *, count_tokens: TokenCounter = count_tokens, max_chars: int = MAX_CHARS
    ) -> None:
        """Send `model` at most `max_chars` characters of the rounds; of a longer text its beginning and its end."""
        self._model = model
        self._count_tokens = count_tokens
        self._max_chars = max_chars
        self._version: str | None = None

    @property
    def provenance(self) -> Provenance:
        """Which model summarises, as it last told its version, to which instructions."""
        prompt = prompt_id("rolling_summary", prompt_text("rolling_summary"))
        return Provenance(model=name_of(self._model), model_version=self._version, prompt=prompt)

    async def summarize(self, rounds: Sequence[SpokenRound], *, earlier: str = "", max_tokens: int = 200) -> str:
        """Return the model's answer, cut at the end of a sentence where it is longer than `max_tokens`.

        Raises:
            ProviderError: The model failed, or answered with nothing.
        """
        share = self._max_chars // (2 * len(rounds) or 1)
        spoken = [(_without_middle(each.said, share), _without_middle(each.answered, share)) for each in rounds]
        prompt = render_rolling_summary(
            spoken, earlier=_without_middle(earlier, self._max_chars), max_tokens=max_tokens
        )
        text = await self._ask([SystemMessage(prompt.instruction), HumanMessage(prompt.data)])
        summary = shortened(" ".join(text.split()), lambda part: self._count_tokens(part) <= max_tokens)
        if not summary:
            raise ProviderError("The chat model answered a request for a summary with nothing.")
        return summary

    async def _ask(self, prompt: list[SystemMessage | HumanMessage]) -> str:
        try:
            # The tag keeps the summary out of what a graph streams to the user as the assistant's words.
            answer = await self._model.ainvoke(prompt, {"tags": [TAG_NOSTREAM], "run_name": "rolling_summary"})
        except Exception as error:  # every client library has errors of its own, and no common base
            raise ProviderError(f"The chat model failed to summarise: {type(error).__name__}.") from error
        self._version = answer.response_metadata.get("model_name")
        return spoken_text(answer)


class SummaryInTime:
    """Asks `provider` while it has time; quotes what was said as soon as that is over, or the provider failed."""

    def __init__(self, provider: SummaryProvider, seconds: float, *, count_tokens: TokenCounter = count_tokens) -> None:
        """Give `provider` so many seconds from now on, for all calls together."""
        self._provider = provider
        self._quotes = ExtractiveSummaryProvider(count_tokens=count_tokens)
        self._until = time.monotonic() + seconds
        self.quoted = False
        """Whether the provider failed or had no time left, so that something was quoted."""

    async def summarize(self, rounds: Sequence[SpokenRound], *, earlier: str = "", max_tokens: int = 200) -> str:
        """Return what either of them makes of it."""
        left = self._until - time.monotonic()
        if left > 0:
            try:
                async with asyncio.timeout(left):
                    return await self._provider.summarize(rounds, earlier=earlier, max_tokens=max_tokens)
            except Exception as error:  # noqa: BLE001  # a foreign provider may raise anything, and quotes need none
                self._until = 0.0
                summary_failures.labels(type(error).__name__).inc()
                logger.warning("summary_provider_replaced cause=%s", type(error).__name__)
        self.quoted = True
        return await self._quotes.summarize(rounds, earlier=earlier, max_tokens=max_tokens)


def _without_middle(text: str, most: int) -> str:
    """Return `text` with its middle cut out where it is longer than `most`, and no placeholder cut in two."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{_CUT_HEAD.sub('', text[:half])} … {_CUT_TAIL.sub('', text[len(text) - half :])}"
