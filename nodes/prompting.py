"""Put the prompt of a turn together: what the model gets, with the real values in it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from discreet.erased import Erased, on_erasure
from discreet.nodes.forgotten import ForgottenRounds
from discreet.nodes.masking import OpenTurn, TurnMask
from discreet.nodes.media import for_model
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.nodes.rounds import rounds_of, window
from discreet.nodes.run import Run, describe_run, kept_tools
from discreet.nodes.turn import turn_start, unanswered
from discreet.ports import FixedSettings, LiveSettings, RollingSummary, SpokenRound
from discreet.prompts.assembly import DEFAULT_WINDOW, AssembledPrompt, assemble, observe
from discreet.prompts.rounds import NEWEST, SHORT_LINE, KnownRounds, round_key, split_rounds
from discreet.prompts.texts import prompt_text
from discreet.providers.capabilities import name_of, window_of
from discreet.providers.extractive import ExtractiveSummaryProvider
from discreet.providers.media import sent_to
from discreet.providers.tokens import count_tokens, estimate_at_most, token_counter
from discreet.state.conversation import RetrievedMemory
from discreet.state.media import Modality
from discreet.state.message_text import text_of

INLINE_CHARS = 40_000
"""Of earlier rounds that are put together on the event loop itself; to count and to shorten more takes a thread."""

DIGEST_SHARE = 10
"""Of the window: what quotations of rounds take that neither the prompt nor a summary has room for, 400 to 2,000 tokens."""

STEP = 10
"""Rounds that are quoted more at a time, so that a conversation is quoted anew every tenth turn."""

MAX_TOOLS = 32
"""Sets of tools whose definitions are held."""


@dataclass(frozen=True, kw_only=True)
class Prompting:
    """Makes prompts that fit the window of their model and tell every round of their thread."""

    mask: TurnMask = field(default_factory=TurnMask)
    """Puts the real values of the running turn back."""
    summariser: RollingSummariser | None = None
    """Has the rolling summary of the thread; None: rounds that don't fit are told in a few quotations."""
    forgotten: ForgottenRounds | None = None
    """Knows which rounds the user had forgotten; None: there is no long-term memory, so nothing can be."""
    context_window_size: int | None = None
    """Tokens that the model takes, whatever else is said. None: `Context`, else the settings, else the model's profile, else
    32,000."""
    memory_settings: LiveSettings = field(default_factory=FixedSettings)
    """Have the context window; asked anew for each prompt."""
    known: KnownRounds = field(default_factory=KnownRounds, repr=False)
    """Sizes, lines and quotations of rounds, from turn to turn. All are forgotten when somebody's data is erased."""

    def __post_init__(self) -> None:
        """Load the tokenizer beside what goes on: it takes 70 ms of whoever asks first, and an event loop has none to spare."""
        on_erasure(self._forget_known)
        threading.Thread(target=count_tokens, args=("",), name="discreet-tokenizer", daemon=True).start()

    async def prompt(
        self,
        messages: Sequence[BaseMessage],
        memories: Sequence[RetrievedMemory],
        *,
        model: BaseChatModel,
        run: Run | None = None,
        tools: str = "",
        instructions: str | None = None,
        last_words: bool = False,
    ) -> tuple[AssembledPrompt, OpenTurn]:
        """Return the prompt for the model, and the turn that masks its answer.

        Args:
            messages: The conversation as it stands in the state.
            memories: Retrieved for this turn, best first.
            model: Which model gets it.
            run: Whose turn it is. Default: the run that calls this.
            tools: Definitions of the tools that it gets, see `definitions_of`; they are counted.
            instructions: Replace the template's own. Behind them come those of the caller, the system messages among `messages`.
            last_words: Asks for an answer without further tool calls.

        Raises:
            ContextWindowError: The model's window has no room for instructions and message.
        """
        run = run or describe_run()
        if self.forgotten is not None:
            messages = await self.forgotten.left_out(run, messages)
        turn = await self.mask.turn(messages)
        said = [text_of(message) for message in turn.real([m for m in messages if isinstance(m, SystemMessage)])]
        instructions = "\n\n".join([instructions or prompt_text("assistant"), *dict.fromkeys(said)])
        able = sent_to(model)
        waiting = {message.id for message in unanswered(messages)}
        name = name_of(model)
        count = token_counter(name) if name else estimate_at_most
        extractive = ExtractiveSummaryProvider(count_tokens=count)

        async def assembled(summary: str, earlier: Sequence[BaseMessage]) -> AssembledPrompt:
            is_long = sum(len(text_of(message)) for message in earlier) > INLINE_CHARS
            make = partial(
                assemble,
                count=count,
                running=running,
                earlier=[_for_model(each, able if each.id in waiting else ()) for each in turn.real(earlier)],
                memories=memories,
                summary=turn.text(summary),
                system_prompt=instructions,
                last_words=last_words,
                window=self._window(run, model),
                tools=tools,
                brief=extractive.brief,
                known=self.known,
            )
            return await asyncio.to_thread(make) if is_long else make()

        summary, earlier, running = await self._parts(messages, run, turn, able)
        prompt = await assembled(summary, earlier)
        if prompt.untold and self.summariser is not None and run.thread_id is not None:
            await self.summariser.catch_up(run.user_id, run.thread_id, messages, app_name=run.context.app_name)
            before, (summary, earlier, running) = summary, await self._parts(messages, run, turn, able)
            prompt = prompt if summary == before else await assembled(summary, earlier)
        if prompt.untold:
            most = min(2_000, max(400, self._window(run, model) // DIGEST_SHARE))
            # The quotations take the room of some lines.
            lacking = -(-(prompt.untold + most // SHORT_LINE + 2) // STEP) * STEP
            prompt = await assembled(*await self._quoted(summary, earlier, lacking, extractive, max_tokens=most))
        observe(prompt)
        return prompt, turn

    async def _quoted(
        self,
        summary: str,
        earlier: Sequence[BaseMessage],
        rounds: int,
        extractive: ExtractiveSummaryProvider,
        *,
        max_tokens: int,
    ) -> tuple[str, list[BaseMessage]]:
        """Return the summary with quotations of the oldest `rounds` before the newest six, and the messages of the others."""
        split = split_rounds(earlier)
        rounds = max(0, min(rounds, len(split) - NEWEST))
        key = ("quoted", summary, max_tokens, hash(tuple(map(round_key, split[:rounds]))))
        digest = self.known.get(key)
        if digest is None:
            oldest = [_spoken(said) for said in split[:rounds]]
            digest = await extractive.summarize(oldest, earlier=summary, max_tokens=max_tokens)
            self.known.keep(key, digest)
        return "\n".join(filter(None, (summary, digest))), [message for said in split[rounds:] for message in said]

    async def _parts(
        self, messages: Sequence[BaseMessage], run: Run, turn: OpenTurn, able: Collection[Modality]
    ) -> tuple[str, list[BaseMessage], list[BaseMessage]]:
        """Return the summary, the earlier messages that it does not cover, and the running turn with its real values."""
        summary, rounds = RollingSummary(), rounds_of(messages[: turn_start(messages)])
        if self.summariser is not None and run.thread_id is not None:
            summary = await self.summariser.of_rounds(run.user_id, run.thread_id, rounds)
        told = [
            m for m in window(messages, summary, rounds=rounds, tools=kept_tools()) if not isinstance(m, SystemMessage)
        ]
        start = turn_start(told) or 0
        running = [_for_model(message, able) for message in turn.real(told[start:])]
        return summary.text, told[:start], running

    def _forget_known(self, _: Erased) -> None:
        self.known.clear()

    def _window(self, run: Run, model: BaseChatModel) -> int:
        return (
            self.context_window_size
            or run.context.context_window_size
            or self.memory_settings.live.context_window_size
            or window_of(model)
            or DEFAULT_WINDOW
        )


def definitions_of(tools: Sequence[Any]) -> str:
    """Return the definitions of `tools` as models get them, to be counted. The same tools are converted once."""
    return _definitions(_SameTools(tuple(tools))) if tools else ""


@dataclass(frozen=True, eq=False)
class _SameTools:
    """Tools that are equal to those that are the same objects; some tools have no hash."""

    tools: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameTools) and [*map(id, self.tools)] == [*map(id, other.tools)]

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.tools)))


@lru_cache(MAX_TOOLS)
def _definitions(same: _SameTools) -> str:
    return json.dumps([convert_to_openai_tool(tool) for tool in same.tools], ensure_ascii=False)


def _spoken(said: Sequence[BaseMessage]) -> SpokenRound:
    spoken = [message for message in said if not isinstance(message, ToolMessage)]
    texts = [(isinstance(message, HumanMessage), text) for message in spoken if (text := text_of(message))]
    return SpokenRound(
        said="\n".join(text for users, text in texts if users),
        answered="\n".join(text for users, text in texts if not users),
    )


def _for_model(message: BaseMessage, able: Collection[Modality]) -> BaseMessage:
    """Return the user's message with what the model takes of its media."""
    if not isinstance(message, HumanMessage) or isinstance(message.content, str):
        return message
    return message.model_copy(update={"content": for_model(message.content, able)})
