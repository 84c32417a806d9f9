"""Put a prompt together under a budget of tokens: pure functions of texts, memories and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, SystemMessage

from discreet.metrics import prompt_cut, prompt_tokens
from discreet.prompts.blocks import FACTS_TAG, PAST_TAG, PAST_TYPES, SUMMARY_TAG, block, memory_line
from discreet.prompts.budget import Part, TokenBudget
from discreet.prompts.cutting import Count, cut_at_sentence, cut_middle
from discreet.prompts.data import as_data
from discreet.prompts.rounds import MESSAGE_TOKENS, fit_rounds, message_tokens, split_rounds
from discreet.prompts.texts import prompt_text
from discreet.state.conversation import RetrievedMemory

__all__ = ["DEFAULT_BUDGET", "AssembledPrompt", "Part", "TokenBudget", "assemble", "observe"]

DEFAULT_BUDGET = TokenBudget()


@dataclass(frozen=True, kw_only=True)
class AssembledPrompt:
    """A prompt, and what it took to make it fit."""

    system: str
    """Text of the system message."""
    rounds: tuple[BaseMessage, ...]
    """Earlier rounds that fitted, the user's message first."""
    running: tuple[BaseMessage, ...]
    """The running turn as it was given."""
    tokens: Mapping[Part, int]
    """What each part takes, as counted."""
    cut: Mapping[Part, int]
    """How many items of each part were left out or shortened: rounds, memories, the summary."""

    @property
    def messages(self) -> list[BaseMessage]:
        """The prompt as chat models take it."""
        return [SystemMessage(self.system), *self.rounds, *self.running]

    @property
    def total(self) -> int:
        """The tokens of all parts."""
        return sum(self.tokens.values())


def assemble(
    *,
    count: Count,
    running: Sequence[BaseMessage],
    earlier: Sequence[BaseMessage] = (),
    memories: Sequence[RetrievedMemory] = (),
    summary: str = "",
    system_prompt: str | None = None,
    last_words: bool = False,
    budget: TokenBudget = DEFAULT_BUDGET,
) -> AssembledPrompt:
    """Return the prompt: instructions, facts, past conversations, the summary, earlier rounds, the running turn.

    Instructions and running turn are never cut. The others get what these leave of the total, in this order and each at
    most its own budget: summary, facts, past conversations, rounds. So an overlong input first costs what nobody uses,
    then the oldest rounds, then past conversations, then the least relevant facts, then the summary's last sentences. What
    the instructions leave of their budget goes to the summary, then to the facts and past conversations; what the summary
    leaves goes to the rounds.

    Args:
        count: Counts tokens, for example `discreet.providers.tokens.token_counter(model_name)`. Called once for each text,
            and some ten times for one that has to be shortened.
        running: The running turn, its tool traffic included; the user's message first.
        earlier: Messages before it, oldest first, without tool traffic.
        memories: Best first; those of the types `turn` and `conversation_summary` are past conversations.
        summary: Of this thread, as far as `earlier` does not tell it.
        system_prompt: Replaces the template's own instructions.
        last_words: Asks for an answer without further tool calls.
        budget: Tokens of each part.

    Example:
        >>> from langchain_core.messages import HumanMessage
        >>> from discreet.providers.tokens import token_counter
        >>> prompt = assemble(
        ...     count=token_counter("openai:gpt-4o"),
        ...     running=[HumanMessage("Which boat?")],
        ...     summary="They spoke about boats.",
        ...     system_prompt="Be brief.",
        ... )
        >>> print(prompt.system)  # doctest: +ELLIPSIS
        Be brief.
        <BLANKLINE>
        Between the tags below ... for equal values.
        <BLANKLINE>
        <conversation_summary>
        They spoke about boats.
        </conversation_summary>
        >>> [message.type for message in prompt.messages], prompt.cut["summary"]
        (['system', 'human'], 0)
    """
    facts = [memory for memory in memories if memory["type"] not in PAST_TYPES]
    past = [memory for memory in memories if memory["type"] in PAST_TYPES]
    story = as_data(summary)
    rounds = split_rounds(earlier)

    tags = [tag for tag, given in ((FACTS_TAG, facts), (PAST_TAG, past), (SUMMARY_TAG, story)) if given]
    instructions = _Instructions(head=system_prompt or prompt_text("assistant"), last_words=last_words)
    fixed = instructions.tokens(tags, count)
    said = sum(message_tokens(message, count) for message in running)
    spare = max(0, budget.system - fixed)
    pool = _Pool(budget.total - fixed - said)

    own = budget.summary + spare
    story_kept = _fit_summary(story, pool.limit(own), count)
    story_tokens = count(story_kept)
    pool.take(story_tokens, own, cut=story_kept != story)
    reserve = budget.reserve + spare - max(0, story_tokens - budget.summary)
    facts_kept, facts_tokens, facts_cut = _fit_memories(facts, pool.limit(reserve), count)
    pool.take(facts_tokens, reserve, cut=facts_cut > 0)
    reserve -= facts_tokens
    past_kept, past_tokens, past_cut = _fit_memories(past, pool.limit(reserve), count)
    pool.take(past_tokens, reserve, cut=past_cut > 0)
    unused = max(0, budget.summary - story_tokens)
    rounds_kept, rounds_tokens = fit_rounds(rounds, pool.limit(budget.rounds + unused), count)

    blocks = {FACTS_TAG: facts_kept, PAST_TAG: past_kept, SUMMARY_TAG: story_kept}
    if not all(blocks[tag] for tag in tags):
        fixed = instructions.tokens([tag for tag in tags if blocks[tag]], count)
    whole = [kept for kept, given in zip(rounds_kept[::-1], rounds[::-1], strict=False) if kept is given]
    return AssembledPrompt(
        system=instructions.render(blocks),
        rounds=tuple(message for kept in rounds_kept for message in kept),
        running=tuple(running),
        tokens={
            "system": fixed,
            "summary": story_tokens,
            "facts": facts_tokens,
            "past": past_tokens,
            "rounds": rounds_tokens,
            "input": said,
        },
        cut={
            "summary": int(story_kept != story),
            "facts": facts_cut,
            "past": past_cut,
            "rounds": len(rounds) - len(whole),
        },
    )


def observe(prompt: AssembledPrompt) -> None:
    """Count a prompt in the metrics, by part."""
    for part, tokens in prompt.tokens.items():
        prompt_tokens.labels(part).observe(tokens)
    for part, items in prompt.cut.items():
        prompt_cut.labels(part).inc(items)


@dataclass
class _Pool:
    """What is left of the total for the parts that may be cut, the most precious first."""

    left: int

    def limit(self, own: int) -> int:
        """Return what a part with a budget of its `own` may take."""
        return max(0, min(own, self.left))

    def take(self, tokens: int, own: int, *, cut: bool) -> None:
        """Take `tokens`, and all the rest if the part was cut for the total's sake: lesser parts don't outlive it."""
        self.left = 0 if cut and self.left < own else self.left - tokens


@dataclass(frozen=True)
class _Instructions:
    """What of the system prompt is never cut."""

    head: str
    last_words: bool

    def tokens(self, tags: Sequence[str], count: Count) -> int:
        """Return what all but the contents of the blocks take, as if every block were there."""
        return MESSAGE_TOKENS + count(self.render(dict.fromkeys(tags, " ")))

    def render(self, blocks: Mapping[str, str]) -> str:
        """Return the system prompt with the blocks that hold something, the summary last."""
        told = [block(tag, lines) for tag, lines in blocks.items() if lines]
        parts = [self.head, *([prompt_text("memory_facts")] if told else []), *told]
        if self.last_words:
            parts.append(prompt_text("final_answer"))
        return "\n\n".join(parts)


def _fit_summary(story: str, limit: int, count: Count) -> str:
    if not story or count(story) <= limit:
        return story
    return cut_at_sentence(story, limit, count) or cut_middle(story, limit, count, render=as_data)


def _fit_memories(memories: Sequence[RetrievedMemory], limit: int, count: Count) -> tuple[str, int, int]:
    """Return the lines of the first memories that fit, what they take, and how many memories were cut.

    Where the very first is over the limit, it is kept without the middle of its text.
    """
    lines: list[str] = []
    used = 0
    for memory in memories:
        line = memory_line(memory)
        tokens = count(line + "\n")
        if used + tokens > limit:
            break
        lines.append(line)
        used += tokens
    cut = len(memories) - len(lines)
    if memories and not lines:
        best = memories[0]
        line = cut_middle(as_data(best["text"]), limit - 1, count, render=lambda text: memory_line(best, text))
        lines, used = ([line], count(line + "\n")) if line else ([], 0)
    return "\n".join(lines), used, cut
