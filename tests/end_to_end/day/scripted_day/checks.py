"""What must hold of a day that was played; each check returns what does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scripted_day.dump import runs
from scripted_day.model import Prompt
from scripted_day.play import Played, payload_of
from scripted_day.script import Turn, planted, tool_rows

ERROR = re.compile(r"Traceback|\bERROR\b|\bCRITICAL\b|\[(warning|error|critical) *\]|Error:|_failed\b")
REFUSED_KEY = "tool_failed code=memory_secret"
"""The model was told that it can't save a key, as it should be."""
COLOUR = re.compile("\x1b\\[[0-9;]*m")
AROUND = 60


def none_of(found: list[str]) -> None:
    """Fail with what was found, a line each."""
    assert not found, "\n".join(found)


def unanswered(played: Played) -> list[str]:
    """Return turns that did not get what the model answered."""
    assert played.model
    given = {prompt.turn.number: prompt.answer for prompt in played.model.prompts if prompt.turn and prompt.answer}
    return [
        f"{_name(turn)}: shown {played.answers.get(turn.number, 'nothing')[-300:]!r}"
        for turn in played.day.turns
        if not given.get(turn.number)
        or "".join(given[turn.number].split()) not in "".join(played.answers.get(turn.number, "").split())
    ]


def errors(played: Played) -> list[str]:
    """Return lines of an output that tell of an error."""
    shown = [line for text in played.answers.values() for line in text.splitlines()]
    complaints = played.model.complaints if played.model else []
    lines = [COLOUR.sub("", line) for line in [*played.output.splitlines(), *shown]]
    return [*complaints, *(line for line in lines if ERROR.search(line) and REFUSED_KEY not in line)]


def not_recalled(played: Played) -> list[str]:
    """Return questions whose answer did not stand in the prompt."""
    assert played.model
    return [
        f"{_name(turn)}: no {word!r} in the prompt"
        for turn in played.day.turns
        for word in turn.knows
        if word.casefold() not in _answering(played, turn).casefold()
    ]


def outdated(played: Played) -> list[str]:
    """Return questions in whose prompt an old state of a fact stands above the new one."""
    assert played.model
    found: list[str] = []
    for update in played.day.turns:
        for turn in played.day.of(update.who) if update.update else ():
            lines = [line for line in _answering(played, turn).splitlines() if line.startswith("- [")]
            places = [
                [place for place, line in enumerate(lines) if text in line] for text in (update.was, update.update)
            ]
            if turn.number > update.number and all(places) and min(places[0]) < min(places[1]):
                found.append(f"{_name(turn)}: {update.was!r} stands above {update.update!r}")
    return found


def recalled_by_tool(played: Played) -> int:
    """Return how many questions took a call of recall_memory."""
    assert played.model
    return len({prompt.turn.number for prompt in played.model.prompts if _asks_tool(prompt)})


def not_gone(played: Played) -> list[str]:
    """Return prompts that tell what was forgotten before them, and not told anew since."""
    assert played.model
    found: list[str] = []
    for turn in played.day.turns:
        numbers = [prompt.number for prompt in played.model.prompts if prompt.turn == turn]
        for word in turn.gone if numbers else ():
            anew = _first_after(played, turn, word)
            found += [
                f"{word!r}, forgotten by {_name(turn)}, {_place(prompt, word)}"
                for prompt in played.model.prompts
                if max(numbers) < prompt.number < anew and word.casefold() in prompt.text.casefold()
            ]
    return list(dict.fromkeys(found))


def mixed(played: Played) -> list[str]:
    """Return prompts that tell something of another person."""
    assert played.model
    words = {who: planted(played.day.turns, who) for who in played.day.people}
    found: list[str] = []
    for prompt in played.model.prompts:
        text = prompt.text.casefold()
        told = {who: word for who, theirs in words.items() for word in theirs if word.casefold() in text}
        strangers = [who for who in told if prompt.turn and who != prompt.turn.who]
        if strangers or len(told) > 1:
            found.append(f"{told} in a prompt of {_name(prompt.turn) if prompt.turn else 'a summary'}")
    return found


def leaked(played: Played, texts: dict[str, str]) -> list[str]:
    """Return which of `texts`, by name, have a run of a transcript or a tool's result, or a private value."""
    voices = [turn for turn in played.day.turns if turn.is_voice]
    hidden = {f"transcript of {turn.who}": runs(turn.said) for turn in voices}
    hidden |= {
        f"result for {turn.who}": set().union(*map(runs, tool_rows(turn.tool)))
        for turn in played.day.turns
        if turn.tool
    }
    values = [
        (name, form) for name, value in played.day.private.items() for form in {value, re.sub(r"[ +-]", "", value)}
    ]
    values += [(f"recording of {turn.who}", payload_of(turn)[60:160]) for turn in voices]
    found: list[str] = []
    for name, text in texts.items():
        there = runs(text)
        found += [f"{name}: {what}: {sorted(each & there)[:3]}" for what, each in hidden.items() if each & there]
        found += [f"{name}: {what}: {_around(text, value)}" for what, value in values if value in text]
    return found


def _answering(played: Played, turn: Turn) -> str:
    assert played.model
    return next((prompt.text for prompt in played.model.prompts if prompt.turn == turn and prompt.answer), "")


def _asks_tool(prompt: Prompt) -> bool:
    return bool(prompt.turn and prompt.turn.knows and "recall_memory" in prompt.called)


def _first_after(played: Played, turn: Turn, word: str) -> float:
    """Return the number of the first prompt in which the user says the word anew."""
    assert played.model
    anew = {each.number for each in played.day.of(turn.who) if each.number > turn.number and _says(each, word)}
    numbers: Iterator[int] = (
        prompt.number for prompt in played.model.prompts if prompt.turn and prompt.turn.number in anew
    )
    return min(numbers, default=float("inf"))


def _says(turn: Turn, word: str) -> bool:
    return word.casefold() in turn.said.casefold()


def _name(turn: Turn) -> str:
    return f"turn {turn.number} ({turn.thread}: {turn.said[:50]!r})"


def _place(prompt: Prompt, word: str) -> str:
    where = _name(prompt.turn) if prompt.turn else "a summary"
    return f"stands in the prompt of {where}: {_around(prompt.text, word)}"


def _around(text: str, word: str) -> str:
    place = text.casefold().find(word.casefold())
    return repr(text[max(place - AROUND, 0) : place + len(word) + AROUND])
