"""Tell every earlier round: the newest word for word, long ones without their middle, older ones in a line each."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from discreet.prompts.data import plain, quoted
from discreet.prompts.fitting import Count, cut_end, cut_middle, fair_shares, fixed_tokens, message_tokens
from discreet.state.message_text import text_of

ROUNDS_TAG: Final = "earlier_rounds"

LINE_TOKENS: Final = 48
"""A round in a line: what was said in a sentence, and a beginning of the answer."""

SHORT_LINE: Final = 32
"""A shorter line says too little; where there is no room for one each, the summary has to tell the oldest rounds."""

NEWEST: Final = 6
"""Rounds that stand word for word before older ones get a line; no summary tells them."""

LEAST_LINE: Final = 14
"""Of these, where the room is too small for anything else."""

LINE_STEP: Final = 8
"""Lines grow and shrink by so many tokens, so that most rounds have the same line in the next turn."""

QUOTE_TOKENS: Final = 4
"""What quotation marks, dash and arrow take beside each side of a line."""

LEAST_ASKED: Final = 6
"""Tokens that a question takes at least that stands in a line before another."""

ROUND_SHARE: Final = 3
"""One round takes a third of the room at most, so that a pasted page leaves the others theirs."""

WORTH_SHORTENING: Final = 120
"""A round that gets fewer tokens than this becomes a line."""

NO_WORDS: Final = "..."
"""Stands for a message that says nothing: providers refuse one without content."""

MAX_KNOWN: Final = 8_192
"""Sizes and lines of rounds that are remembered: those of a few hundred long threads. A line has some 200 characters."""

T = TypeVar("T")

Brief = Callable[[str, int], str]
"""Returns what a text says most in at most so many tokens."""


class KnownRounds:
    """Remembers what rounds take and how they are told in a line, so that a turn does not read its whole thread again.

    It may be used from several threads. What was asked for longest ago goes first.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def size(self, said: Sequence[BaseMessage], count: Count) -> int:
        """Return the tokens of a round."""
        key = ("size", count, round_key(said))
        tokens: int | None = self.get(key)
        return self.keep(key, sum(message_tokens(message, count) for message in said)) if tokens is None else tokens

    def line(self, said: Sequence[BaseMessage], limit: int, count: Count, brief: Brief) -> tuple[str, int]:
        """Return a round as one line of data in at most `limit` tokens, and its tokens."""
        key = ("line", limit, count, round_key(said))
        found: tuple[str, int] | None = self.get(key)
        if found is None:
            line = _line(said, limit, count, brief)
            found = self.keep(key, (line, count(line + "\n")))
        return found

    def get(self, key: Hashable) -> Any:
        """Return what was kept for `key`; None if there is nothing."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def keep(self, key: Hashable, value: T) -> T:
        """Keep `value` for `key`, and return it."""
        with self._lock:
            self._known[key] = value
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()


def round_key(said: Sequence[BaseMessage]) -> tuple[Hashable, ...]:
    """Return what tells a round from others: of each message its id, the hash of its text, and its calls and blocks."""
    return tuple((m.type, m.id, hash(text_of(m)), _beside(m)) for m in said)


def _beside(message: BaseMessage) -> Hashable:
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    return (len(message.content) if isinstance(message.content, list) else 0, repr(calls) if calls else "")


@dataclass(frozen=True, kw_only=True)
class ToldRounds:
    """Rounds as a prompt tells them."""

    messages: tuple[BaseMessage, ...] = ()
    """The newest ones, the user's message first."""
    lines: str = ""
    """Those before them, a line each."""
    tokens: int = 0
    cut: int = 0
    """How many of them are not there word for word."""
    untold: int = 0
    """How many of the oldest have no room: the summary has to tell them."""


def with_words(message: BaseMessage) -> BaseMessage:
    """Return `message`, with dots for its content if it has none, and calls no tool."""
    is_traffic = isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and message.tool_calls)
    if is_traffic or not isinstance(message.content, str) or message.content.strip():
        return message
    return message.model_copy(update={"content": NO_WORDS})


def split_rounds(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Return the rounds, oldest first: what the user said until they were answered, and the answers.

    What the assistant said before the user spoke is a round of its own. Calls of tools stay in their round, with their results.
    """
    rounds: list[list[BaseMessage]] = []
    for message in messages:
        opens = isinstance(message, HumanMessage) and (not rounds or not isinstance(rounds[-1][-1], HumanMessage))
        if opens or not rounds:
            rounds.append([message])
        else:
            rounds[-1].append(message)
    return rounds


def tell_rounds(
    rounds: Sequence[list[BaseMessage]], limit: int, *, count: Count, brief: Brief, known: KnownRounds
) -> ToldRounds:
    """Return `rounds` told in at most `limit` tokens.

    From the newest back each stands word for word, without the middle of its texts where it takes more than a third of
    the limit, while the ones before it still have room for a line each.
    """
    sizes = [known.size(said, count) for said in rounds]
    untold, lines_at_most = _lines(sizes, limit)
    told, sizes = rounds[untold:], sizes[untold:]
    if not told:
        return ToldRounds(untold=untold, cut=untold)
    left = limit - sum(map(min, lines_at_most, sizes))
    messages: list[BaseMessage] = []
    used = whole = 0
    first = len(told)
    for at in range(len(told) - 1, -1, -1):
        said, size, line = told[at], sizes[at], lines_at_most[at]
        room = min(max(limit // ROUND_SHARE, line), left + min(line, size))
        if not isinstance(said[0], HumanMessage):
            break
        kept = said if size <= room else _shortened(said, room, count) if room >= WORTH_SHORTENING else []
        if not kept:
            break
        taken = size if kept is said else sum(message_tokens(message, count) for message in kept)
        whole += kept is said
        left -= taken - min(line, size)
        used += taken
        messages[:0] = kept
        first = at
    lines = [known.line(said, most, count, brief) for said, most in zip(told[:first], lines_at_most, strict=False)]
    return ToldRounds(
        messages=tuple(messages),
        lines="\n".join(line for line, _ in lines),
        tokens=used + sum(tokens for _, tokens in lines),
        cut=len(rounds) - whole,
        untold=untold,
    )


def _lines(sizes: Sequence[int], limit: int) -> tuple[int, list[int]]:
    """Return how many of the oldest rounds have no room for a line, and how long those of the others may be.

    Two thirds of the limit are the newest rounds', as far as they need them.
    """
    newest, older = sizes[-NEWEST:], sizes[:-NEWEST]
    least = min(LINE_TOKENS, max(LEAST_LINE, limit // max(1, len(newest))))
    room = limit - min(sum(min(size, limit // ROUND_SHARE) for size in newest), 2 * limit // 3)
    share = room // max(1, len(older))
    line = min(LINE_TOKENS, max(SHORT_LINE, share - share % LINE_STEP))
    untold = len(older)
    while untold and (room := room - min(line, older[untold - 1])) >= 0:
        untold -= 1
    return untold, [line] * (len(older) - untold) + [least] * len(newest)


def _shortened(said: Sequence[BaseMessage], limit: int, count: Count) -> list[BaseMessage]:
    """Return a round whose texts lack their middles; empty if that says too little."""
    texts = [text_of(message) for message in said]
    left = limit - sum(fixed_tokens(message, count) for message in said)
    shorter = []
    for message, text, share in zip(said, texts, fair_shares([count(text) for text in texts], left), strict=True):
        cut = text if count(text) <= share else cut_middle(text, share, count)
        if text and not cut:
            return []
        shorter.append(message if cut == text else message.model_copy(update={"content": cut}))
    return shorter


def _line(said: Sequence[BaseMessage], limit: int, count: Count, brief: Brief) -> str:
    """Return a round as `- "question" → "answer"`. Both sides share the room; what the user said is the larger part."""
    users = [plain(text_of(message)) for message in said if isinstance(message, HumanMessage)]
    answers = [text_of(message) for message in said if not isinstance(message, HumanMessage | ToolMessage)]
    question, answer = " ".join(filter(None, users)), plain(" ".join(filter(None, answers)))
    room = limit - 2 * QUOTE_TOKENS
    if count(question) + count(answer) > room:
        question = _asked(users, max(1, room - min(count(answer), room // 3)), count, brief)
        answer = _fitted(answer, max(1, room - count(question)), count, brief) if answer else ""
    for _ in range(limit):  # quotation marks in the texts take more than was reckoned with
        line = "- " + " → ".join(filter(None, (quoted(question), quoted(answer))))
        over = count(line) - (limit - 1)
        if over <= 0:
            break
        longest = max(question, answer, key=len)
        shorter = cut_end(longest, max(0, count(longest) - over), count)
        question, answer = (shorter, answer) if longest is question else (question, shorter)
    return line


def _asked(users: Sequence[str], limit: int, count: Count, brief: Brief) -> str:
    """Return what the user said in a round, briefly. The newest is what was answered; before it stands what failed or was not."""
    *before, newest = [text for text in users if text] or [""]
    told = _fitted(newest, limit if not before or count(newest) <= limit else 2 * limit // 3, count, brief)
    for text in reversed(before):
        room = limit - count(told)
        if not told or room < LEAST_ASKED:
            break
        told = f"{_fitted(text, room, count, brief)} {told}"
    return told


def _fitted(text: str, room: int, count: Count, brief: Brief) -> str:
    return text if count(text) <= room else plain(brief(text, room)) or cut_end(text, room, count)
