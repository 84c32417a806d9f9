"""Put V1's rounds in the place of those of ours that differ from them, where ours came from V1."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from discreet.errors import UserBusyError, UserErasedError
from discreet.importing.history.comparing import differing
from discreet.importing.history.copying import Told, unseen
from discreet.importing.history.listing import listed
from discreet.importing.history.rounds import THREAD, is_from_v1
from discreet.importing.history.v1 import V1History
from discreet.importing.history.writing import MAX_TURNS, RoundWriter
from discreet.ports import TextRedactor


@dataclass(frozen=True)
class Repairer:
    """Repairs. What is equal is left alone, so it may be stopped and begun anew."""

    history: V1History
    writer: RoundWriter
    redactor: TextRedactor
    """As the storage has it."""

    async def repair(self, *, shown: Callable[[int], AbstractContextManager[Told]] = unseen) -> Counter[str]:
        """Look at all that V1 has; return how many rounds were `repaired`, and how many are `kept`: ours is not V1's.

        Raises:
            ImportSourceError: Redis failed.
            StorageError: The database failed. What was repaired stays.
        """
        user_ids = [*(await self.history.histories()).lengths]
        done: Counter[str] = Counter()
        with shown(len(user_ids)) as told:
            for number, user_id in enumerate(user_ids, 1):
                try:
                    done += await self._repair(user_id)
                except (UserErasedError, UserBusyError):
                    done["busy"] += 1
                told(number)
        return done

    async def _repair(self, user_id: str) -> Counter[str]:
        ours = await self.writer.storage.log.read(user_id, thread_id=THREAD, limit=MAX_TURNS)
        theirs = listed(user_id, await self.history.items(user_id)).turns
        done: Counter[str] = Counter()
        replaced = []
        for pair in await asyncio.to_thread(differing, theirs, ours, self.redactor):
            if pair.their is None or pair.our is None:
                continue
            if is_from_v1(pair.our):
                replaced.append(pair.their)
            else:
                done["kept"] += 1
        written = await self.writer.write(user_id, replaced, known=True)
        done["repaired"] = written["there"]
        return done
