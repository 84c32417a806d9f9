"""The text of a rolling summary: what it was and what the next rounds come to, redacted and within its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.nodes.rounds import ThreadRound
from discreet.ports import SummaryProvider, TextRedactor, TokenCounter, of_thread
from discreet.providers.sentences import shortened
from discreet.redaction.placeholders import TAGGED

BUDGET = 200
"""Tokens of a summary: of 5,000 that eighty rounds of sixty take, 4 %."""

CHUNK_SHARE = 4
"""A chunk gets a quarter of the budget."""


@dataclass(frozen=True)
class SummaryText:
    """Makes the text of one summary from that of the one before."""

    count_tokens: TokenCounter
    redactor: TextRedactor
    budget: int = BUDGET

    async def longer(
        self, earlier: str, rounds: Sequence[ThreadRound], provider: SummaryProvider, *, thread_id: str
    ) -> str:
        """Return `earlier` with what `rounds` come to; above the budget the whole is made shorter by `provider`, else cut.

        A placeholder that stands in neither loses its tag: the provider made it up.
        """
        spoken = [each.spoken for each in rounds]
        part = await provider.summarize(spoken, earlier=earlier, max_tokens=self.budget // CHUNK_SHARE)
        text = "\n".join(filter(None, (earlier, part.strip())))
        if not self._fits(text):
            text = await provider.summarize((), earlier=text, max_tokens=self.budget)
        given = " ".join([earlier, *(f"{each.said} {each.answered}" for each in spoken)])
        redact = of_thread(self.redactor, thread_id).redact
        return shortened(await asyncio.to_thread(redact, _with_tags_of(given, text)), self._fits)

    def _fits(self, text: str) -> bool:
        return self.count_tokens(text) <= self.budget


def _with_tags_of(given: str, text: str) -> str:
    known = {match[0] for match in TAGGED.finditer(given)}
    return TAGGED.sub(lambda match: match[0] if match[0] in known else f"<{match['kind']}>", text)
