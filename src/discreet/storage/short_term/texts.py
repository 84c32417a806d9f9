"""What all short-term stores do with texts: redact them once more, seal them where there is a key, open them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from discreet.driver_errors import storage_errors
from discreet.errors import EncryptionError, ShortTermError, StorageError, UserErasedError
from discreet.ports import Round, TextRedactor, Work, of_thread
from discreet.redaction.beside import beside_loop
from discreet.state.text import storable
from discreet.storage.database.keys import digest
from discreet.storage.database.sealed_columns import ROUND_INPUT, ROUND_OUTPUT, WORK_ANSWER
from discreet.storage.database.sealing import FieldSealer, report_unreadable, reported

Columns = tuple[str | None, bytes | None]
"""A text, plain or sealed: one of both is None."""

Stored = tuple[Round, Columns, Columns]
"""A round without its texts, and those: what was said and the answer."""


@contextmanager
def short_term_errors() -> Iterator[None]:
    """Raise `ShortTermError` for a database that fails and for a text that can't be opened. Neither is chained."""
    try:
        with storage_errors():
            yield
    except (ShortTermError, UserErasedError):
        raise
    except (StorageError, EncryptionError) as error:
        raise ShortTermError(f"{ShortTermError()} {error}") from None


@dataclass(frozen=True)
class ShortTermTexts:
    """Rounds and answers on their way in and out.

    Placeholders keep the tags that they have, so that an answer can be restored for its owner while the turn vault lives.
    """

    redactor: TextRedactor
    sealer: FieldSealer

    async def redacted_round(self, thread_id: str, said: Round) -> Round:
        """Return `said` redacted and storable. An error of the redactor passes: nothing is stored then."""
        redact = of_thread(self.redactor, thread_id).redact

        def redacted() -> Round:
            return replace(
                said,
                request_id=storable(said.request_id),
                input_text=storable(redact(said.input_text)),
                output_text=storable(redact(said.output_text)),
            )

        return await beside_loop(len(said.input_text) + len(said.output_text), redacted)

    async def redacted_answer(self, work: Work, answer: str) -> str:
        """Return `answer` redacted and storable."""
        redact = of_thread(self.redactor, work.ref).redact
        return storable(await beside_loop(len(answer), lambda: redact(answer)))

    def split_round(self, user_id: str, thread_id: str, said: Round) -> tuple[Columns, Columns]:
        """Return what is stored of a redacted round: of what was said and of the answer."""
        place = (user_id, thread_id, said.request_id)
        split = self.sealer.split
        return split(said.input_text, ROUND_INPUT, *place), split(said.output_text, ROUND_OUTPUT, *place)

    def join_rounds(self, user_id: str, thread_id: str, stored: Iterable[Stored]) -> list[Round]:
        """Return the rounds with the texts that `split_round` took, but for those that can't be opened.

        These are counted, and named in the log by digests of their request ids.
        """
        join = self.sealer.join
        rounds, unreadable = [], []
        for of_round, said, answered in stored:
            place = (user_id, thread_id, of_round.request_id)
            try:
                input_text = join(*said, ROUND_INPUT, *place)
                output_text = join(*answered, ROUND_OUTPUT, *place)
            except EncryptionError:
                unreadable.append(digest(of_round.request_id))
                continue
            rounds.append(replace(of_round, input_text=input_text, output_text=output_text))
        report_unreadable("round", unreadable)
        return rounds

    def split_answer(self, work: Work, answer: str) -> Columns:
        """Return what is stored of a redacted answer."""
        return self.sealer.split(answer, WORK_ANSWER, work.user_id, work.kind, work.ref)

    def join_answer(self, work: Work, answer: Columns) -> str:
        """Return the answer that `split_answer` took.

        Raises:
            EncryptionError: It can't be opened, or it belongs to other work. It is counted as `join_rounds` does.
        """
        with reported("answer", digest(work.kind, work.ref)):
            return self.sealer.join(*answer, WORK_ANSWER, work.user_id, work.kind, work.ref)
