"""Put a prompt together within the window of its model: pure functions of texts, memories and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from discreet.errors import ContextWindowError
from discreet.metrics import prompt_cut, prompt_tokens
from discreet.prompts.data import mark_of, plain, quoted
from discreet.prompts.facts import FACTS_TAG, PAST_TAG, explained, least_of, split_memories, tell_memories
from discreet.prompts.fitting import MESSAGE_TOKENS, Count, cut_at_sentence, cut_end, cut_middle, message_tokens
from discreet.prompts.rounds import ROUNDS_TAG, Brief, KnownRounds, split_rounds, tell_rounds, with_words
from discreet.prompts.running import fit_calls, fit_results, least_tokens
from discreet.prompts.texts import prompt_text
from discreet.state.conversation import RetrievedMemory

__all__ = ["AssembledPrompt", "Part", "assemble", "observe"]

SUMMARY_TAG: Final = "conversation_summary"

LONGEST_MARK: Final = "q7x2z5k4"
"""Takes as many tokens as any mark of a prompt, which is known only when the prompt is."""

Part = Literal["system", "tools", "facts", "past", "summary", "rounds", "input"]
"""What a prompt consists of: instructions, definitions of tools, facts, past conversations, the summary of this one, its
earlier rounds, and the running turn."""

DEFAULT_WINDOW: Final = 32_000
"""Tokens of a model of which nobody says how many it takes: the chat models that are served since 2024 take as many."""

LEAST_ROOM: Final = 500
"""What a window has to have beside the instructions and the user's message: facts, rounds, tool results, an answer."""

LEAST_MEMORY: Final = 300
"""Of these for facts, summary and rounds, wherever the tool traffic of the running turn leaves so much."""

LEAST_ANSWER: Final = 100

RESERVE: Final = 200
"""What facts and past conversations are sure of beside rounds of any length: five facts of a long sentence each."""


@dataclass(frozen=True, kw_only=True)
class AssembledPrompt:
    """A prompt, and what it took to make it fit."""

    system: str
    """Text of the system message."""
    rounds: tuple[BaseMessage, ...]
    """The newest earlier rounds, the user's message first. Those before them stand in the system message, a line each."""
    running: tuple[BaseMessage, ...]
    """The running turn; long tool results and arguments of calls may be shortened."""
    tokens: Mapping[Part, int]
    """What each part takes, as counted."""
    cut: Mapping[Part, int]
    """How many items of each part were left out or shortened: rounds, memories, the summary, tool results, calls."""
    untold: int = 0
    """How many of the oldest rounds stand nowhere: have them summarised, and assemble again without them."""

    @property
    def messages(self) -> list[BaseMessage]:
        """The prompt as chat models take it."""
        return [SystemMessage(self.system), *self.rounds, *self.running]

    @property
    def total(self) -> int:
        """The tokens of all parts, definitions of tools included."""
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
    window: int = DEFAULT_WINDOW,
    tools: str = "",
    brief: Brief | None = None,
    known: KnownRounds | None = None,
) -> AssembledPrompt:
    """Return the prompt: instructions, facts, past conversations, the summary, earlier rounds, the running turn.

    Instructions and the user's message are never cut. Facts, past conversations and the summary are placed first, then the
    rounds, all within half of the window: long facts lose their middle rather than others being left out; rounds that
    don't fit word for word lose theirs, and before these each stands in a line. Where not even lines have room, `untold`
    says of how many rounds. The running turn's tool results get what then is left of the window, and are shortened to it; where
    they have no room at all, what tools were called with is shortened.

    Args:
        count: Counts tokens, for example `discreet.providers.tokens.token_counter(model_name)`.
        running: The running turn, its tool traffic included; the user's message first.
        earlier: Messages before it, oldest first; of tool traffic calls with their results only.
        memories: Best first; those of the types `turn` and `conversation_summary` are past conversations.
        summary: Of this thread, as far as `earlier` does not tell it.
        system_prompt: Replaces the template's own instructions.
        last_words: Asks for an answer without further tool calls.
        window: Tokens that the model takes, its answer included.
        tools: Definitions of the tools that the model gets, as JSON: they are counted.
        brief: Makes a line of a round's text; default: its first sentences.
        known: Remembers sizes and lines of rounds from prompt to prompt, as `brief` made them.

    Raises:
        ContextWindowError: The window has no room for instructions, message and 500 tokens.

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
        What is known stands between tags whose names end in -...
        <BLANKLINE>
        <conversation_summary-...>
        "They spoke about boats."
        </conversation_summary-...>
        >>> [message.type for message in prompt.messages], prompt.cut["summary"]
        (['system', 'human'], 0)
    """
    facts, past = split_memories(memories)
    story = plain(summary)
    rounds = split_rounds([*map(with_words, earlier)])
    known = known or KnownRounds()

    tags = [tag for tag, given in ((FACTS_TAG, facts), (PAST_TAG, past), (SUMMARY_TAG, story)) if given]
    head, last = system_prompt or prompt_text("assistant"), prompt_text("final_answer") if last_words else ""

    def written(contents: Mapping[str, str], mark: str) -> str:
        return "\n\n".join(filter(None, (head, explained(contents, mark), last)))

    def fixed_of(tags: Iterable[str], mark: str = LONGEST_MARK) -> int:
        """Return what all but the contents of the blocks takes."""
        return MESSAGE_TOKENS + count(written(dict.fromkeys(tags, " "), mark))

    fixed = fixed_of([*tags, *([ROUNDS_TAG] if rounds else [])])
    defined = count(tools) if tools else 0
    results = [message for message in running if isinstance(message, ToolMessage)]
    said = sum(message_tokens(message, count) for message in running if isinstance(message, HumanMessage))
    least = least_tokens(results, count)
    running, short_calls = fit_calls(running, window - fixed - defined - said - least - LEAST_ROOM, count)
    calls = sum(message_tokens(message, count) for message in running if isinstance(message, AIMessage))
    memory_room, room = divide(window, fixed=fixed + defined, said=said, traffic=calls + least)

    story_kept = _fit_summary(story, memory_room // 4, count)
    left = memory_room - count(story_kept)
    sizes = [known.size(said, count) for said in rounds]
    reserve = max(min(RESERVE, left // 2), left // 3, left - sum(sizes))
    told_facts = tell_memories(facts, reserve - least_of(past, reserve), count)
    told_past = tell_memories(past, reserve - told_facts.tokens, count)
    left -= told_facts.tokens + told_past.tokens
    told_rounds = tell_rounds(rounds, left, count=count, brief=brief or _first_sentences(count), known=known)
    unused = left - told_rounds.tokens
    fitted, shortened = fit_results(running, room - memory_room + unused + least, count)

    blocks = {
        FACTS_TAG: told_facts.lines,
        PAST_TAG: told_past.lines,
        SUMMARY_TAG: story_kept,
        ROUNDS_TAG: told_rounds.lines,
    }
    mark = mark_of("\n".join(blocks.values()))
    return AssembledPrompt(
        system=written(blocks, mark),
        rounds=told_rounds.messages,
        running=tuple(fitted),
        tokens={
            "system": fixed_of([tag for tag, lines in blocks.items() if lines], mark),
            "tools": defined,
            "facts": told_facts.tokens,
            "past": told_past.tokens,
            "summary": count(story_kept),
            "rounds": told_rounds.tokens,
            "input": sum(message_tokens(message, count) for message in fitted),
        },
        cut={
            "facts": told_facts.cut,
            "past": told_past.cut,
            "summary": int(story_kept != quoted(story)),
            "rounds": told_rounds.cut,
            "input": shortened + short_calls,
        },
        untold=told_rounds.untold,
    )


def divide(window: int, *, fixed: int, said: int, traffic: int = 0) -> tuple[int, int]:
    """Return of `window` tokens what facts, summary and rounds may take, and what these and the turn's tool results may.

    A prompt takes at most half of them, so that a long conversation costs no more than a short one and leaves the model
    room to think. The user's message and the running turn's tool traffic come on top.

    Args:
        window: Tokens of prompt and answer together.
        fixed: What instructions and definitions of tools take.
        said: What the user's message takes.
        traffic: The least that the running turn's tool calls and results take.

    Raises:
        ContextWindowError: What can't be cut leaves less than `LEAST_ROOM`, or tool calls have used that up.
    """
    free = window - fixed - said - traffic
    if window < fixed + said + LEAST_ROOM or free < 2 * LEAST_ANSWER:
        raise ContextWindowError(window=window, instructions=fixed, message=said + traffic, least=LEAST_ROOM)
    left = free - min(window // 8, max(LEAST_ANSWER, free - LEAST_MEMORY))
    return min(left, max(window // 2 - fixed, LEAST_MEMORY)), left


def observe(prompt: AssembledPrompt) -> None:
    """Count a prompt in the metrics, by part."""
    for part, tokens in prompt.tokens.items():
        prompt_tokens.labels(part).observe(tokens)
    for part, items in prompt.cut.items():
        prompt_cut.labels(part).inc(items)


def _fit_summary(story: str, limit: int, count: Count) -> str:
    """Return the summary quoted, in at most `limit` tokens."""
    if count(whole := quoted(story)) <= limit:
        return whole
    return quoted(cut_at_sentence(story, limit - 2, count)) or cut_middle(story, limit, count, render=quoted)


def _first_sentences(count: Count) -> Brief:
    return lambda text, limit: cut_at_sentence(text, limit, count) or cut_end(text, limit, count)
