"""Ask a model again after a passing failure: as its provider wants, and no longer than a user waits; then ask another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import ModelError
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from tenacity import RetryCallState, retry_if_exception, wait_random_exponential
from tenacity.asyncio import AsyncRetrying

from discreet.errors import ConfigurationError
from discreet.metrics import model_fallbacks, model_retries
from discreet.providers.openai import asked_once
from discreet.providers.per_model import PerModel

logger = logging.getLogger(__name__)

T = TypeVar("T")

Once = Callable[[BaseChatModel, RunnableConfig], Awaitable[T]]
"""Asks a model, with the config for its `ainvoke`."""

ATTEMPTS = 3
"""As many as the clients of OpenAI and Anthropic make by themselves."""

SECONDS = 20.0
"""A user who waits longer has gone, or has asked again."""

_PASSING = (408, 429)
"""Request timeout, too many requests."""
_SERVER_ERROR = 500
_asked_once = PerModel(asked_once)
_BACKOFF = wait_random_exponential(multiplier=0.5, max=8)


@dataclass(frozen=True, kw_only=True)
class ModelRetry:
    """How often a model is asked again, and how long that may take."""

    seconds: float = SECONDS
    """Of waiting in all, for each model. One whose provider asks for more, by Retry-After, is not asked again."""
    attempts: int = ATTEMPTS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def ask(self, models: Sequence[BaseChatModel], once: Once[T]) -> T:
        """Return what `once` returns with the first of `models` that answers.

        Rate limits, failures of a server and of a connection pass; anything else is raised at once. So is every failure
        after the first words were streamed: what somebody has seen is not said anew.
        """
        spoken = _Spoken()
        config = merge_configs(ensure_config(), {"callbacks": [spoken]})
        for model, following in zip(models, [*models[1:], None], strict=True):
            try:
                return await self._retried(_asked_once(model), config, once, spoken)
            except Exception as error:  # every client library has errors of its own, and no common base
                if following is None or spoken.heard or not passing(error):
                    raise
                model_fallbacks.labels(type(error).__name__).inc()
                logger.warning("model_fallback cause=%s", type(error).__name__)
        raise ConfigurationError("There is no chat model to ask.")

    async def _retried(self, model: BaseChatModel, config: RunnableConfig, once: Once[T], spoken: _Spoken) -> T:
        """Ask one model. One whose client has a number of retries makes them by itself."""
        attempts = 1 if getattr(model, "max_retries", None) else self.attempts

        def stops(state: RetryCallState) -> bool:
            gone = max(state.idle_for, state.seconds_since_start or 0.0)
            return state.attempt_number >= attempts or gone + state.upcoming_sleep > self.seconds

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: not spoken.heard and passing(error)),
            wait=pause_before,
            stop=stops,
            sleep=self.sleep,
            before_sleep=_note,
            reraise=True,
        )
        return await retrying(once, model, config)


class _Spoken(BaseCallbackHandler):
    """Notes whether anything of an answer was streamed."""

    run_inline = True
    heard = False

    def on_llm_new_token(self, token: Any, *_args: Any, chunk: Any = None, **_kwargs: Any) -> None:
        """Streams of OpenAI's protocol begin with a role that says nothing."""
        message = getattr(chunk, "message", None)
        said = token or getattr(message, "content", None) or getattr(message, "tool_call_chunks", None)
        self.heard = self.heard or bool(said)


def passing(error: BaseException) -> bool:
    """Whether the same request may succeed a little later, or elsewhere: as LangChain says, else by the HTTP status."""
    if isinstance(error, ModelError):
        return error.is_retryable
    status = http_status(error)
    if status is None:
        return isinstance(error, ConnectionError | TimeoutError)
    return status in _PASSING or status >= _SERVER_ERROR


def http_status(error: BaseException) -> int | None:
    """Return the HTTP status of an error of any client; None if it has none."""
    given = (getattr(error, "status_code", None), getattr(error, "code", None))  # OpenAI and Anthropic; Google
    return next((each for each in given if isinstance(each, int)), None)


def retry_after(error: BaseException, *, now: datetime | None = None) -> float | None:
    """Return how many seconds the provider asks to wait, None if it doesn't say (RFC 9110, section 10.2.3)."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    milliseconds, seconds = (_number(headers.get(name)) for name in ("retry-after-ms", "retry-after"))
    if milliseconds is not None:  # as OpenAI sends it
        return milliseconds / 1000
    if seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _number(written: object) -> float | None:
    try:
        number = float(str(written))
    except ValueError:
        return None
    return number if number >= 0 else None


def pause_before(state: RetryCallState) -> float:
    """Return the seconds until the next attempt: as the provider asks, else more each time."""
    error = state.outcome.exception() if state.outcome else None
    asked = None if error is None else retry_after(error)
    return _BACKOFF(state) if asked is None else asked


def _note(state: RetryCallState) -> None:
    cause = type(state.outcome.exception()).__name__ if state.outcome else ""
    model_retries.labels(cause).inc()
    logger.warning("model_retry cause=%s attempt=%d wait=%.1f", cause, state.attempt_number, state.upcoming_sleep)
