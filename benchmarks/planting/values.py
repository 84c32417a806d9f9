"""What is planted: sentences with a value that should not be kept, made at run time."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from redaction_sets.values import filled

SAID: Mapping[str, tuple[str, str]] = {
    "e-mail address": ("{email}", "You can write to me at {}, I read it every day."),
    "telephone number": ("{phone}", "Call me on {} after six."),
    "card number": ("{card_plain}", "Please charge my card {}."),
    "IBAN": ("{iban}", "My account is {}, the salary goes there."),
    "IP address": ("{ip}", "I log in from {} most of the time."),
    "social security number": ("{ssn}", "My SSN is {}."),
    "password": ("{password}", "My password is {}, in case you need it."),
    "API token": ("{token}", "Use the API token {} for it."),
}
"""Kind -> what makes a value, and the sentence that tells it."""


@dataclass(frozen=True)
class Turn:
    """One turn: what the user says and what the tool returns, each with a value of its own."""

    kind: str
    said: str
    said_value: str
    result: str
    result_value: str


def turns(per_kind: int) -> list[Turn]:
    """Return `per_kind` turns of each kind, no value twice."""
    rng, used = random.Random(20_241), set[str]()

    def new(maker: str) -> str:
        while (value := filled(maker, "de" if maker == "{iban}" else "en", rng)) in used:
            pass
        used.add(value)
        return value

    made = []
    for _ in range(per_kind):
        for kind, (maker, sentence) in SAID.items():
            said, result = new(maker), new(maker)
            made.append(
                Turn(
                    kind, sentence.format(said), said, f"Customer record. {sentence.format(result)} Plan: pro.", result
                )
            )
    return made
