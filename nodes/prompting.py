"""Put the prompt of a turn together: what the model gets, with the real values in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, HumanMessage

from discreet.nodes.masking import MaskedTurn, TurnMask
from discreet.nodes.media import for_model
from discreet.nodes.rolling_summary import RollingSummariser, window
from discreet.nodes.run import Run
from discreet.nodes.turn import turn_start
from discreet.ports import FixedSettings, LiveSettings, RollingSummary, TokenCounter
from discreet.prompts.assembly import AssembledPrompt, assemble, observe
from discreet.prompts.budget import TokenBudget
from discreet.providers.tokens import count_tokens
from discreet.state.conversation import RetrievedMemory
from discreet.state.media import Modality


@dataclass(frozen=True, kw_only=True)
class Prompting:
    """Makes prompts within a budget of tokens."""

    mask: TurnMask = field(default_factory=TurnMask)
    """Puts the real values of the running turn back."""
    summariser: RollingSummariser | None = None
    """Has the rolling summary of the thread; None: only the last rounds are told."""
    budget: TokenBudget | None = None
    """Tokens of each part, whatever the settings say. None: the default ones, within the settings' context window."""
    memory_settings: LiveSettings = field(default_factory=FixedSettings)
    """Have the context window; asked anew for each prompt."""
    count: TokenCounter = count_tokens
    """Counts them."""

    def __post_init__(self) -> None:
        """Load the tokenizer now: it takes 70 ms of whoever asks first, and an event loop has none to spare."""
        self.count("")

    async def prompt(
        self,
        messages: Sequence[BaseMessage],
        memories: Sequence[RetrievedMemory],
        *,
        run: Run,
        able: Collection[Modality] = (),
        instructions: str | None = None,
        last_words: bool = False,
    ) -> tuple[AssembledPrompt, MaskedTurn]:
        """Return the prompt for the model, and the turn that masks its answer.

        Args:
            messages: The conversation as it stands in the state.
            memories: Retrieved for this turn, best first.
            run: Whose turn it is.
            able: What the model takes besides text.
            instructions: Replace the template's own.
            last_words: Asks for an answer without further tool calls.
        """
        summary = RollingSummary()
        if self.summariser is not None and run.thread_id is not None:
            summary = await self.summariser.current(run.user_id, run.thread_id, messages)
        told = window(messages, summary)
        turn = await self.mask.turn(messages)
        start = turn_start(told) or 0
        prompt = assemble(
            count=self.count,
            running=[_for_model(message, able) for message in turn.real(told[start:])],
            earlier=turn.real(told[:start]),
            memories=memories,
            summary=summary.text,
            system_prompt=instructions,
            last_words=last_words,
            budget=self.budget or TokenBudget(window=self.memory_settings.live.context_window_size),
        )
        observe(prompt)
        return prompt, turn


def _for_model(message: BaseMessage, able: Collection[Modality]) -> BaseMessage:
    """Return the user's message with what the model takes of its media."""
    if not isinstance(message, HumanMessage) or isinstance(message.content, str):
        return message
    return message.model_copy(update={"content": for_model(message.content, able)})
