"""Messages that were refused. LangGraph has written them into the state before the node that refuses them runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from itertools import takewhile

from langchain_core.messages import BaseMessage, HumanMessage

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.message_ids import safe_id
from discreet.nodes.masking import TurnMask, failed
from discreet.nodes.run import is_first_of_thread, thread_of_run
from discreet.nodes.turn import turn_start


async def note_refused(mask: TurnMask, messages: Sequence[BaseMessage]) -> None:
    """Have later turns of the thread know that the input at the end of `messages` was refused, while the vault knows it."""
    thread = thread_of_run()
    came_in = _came_in(mask, thread, await without_refused(mask, messages))
    ids = [str(safe_id(message.id)) for message in came_in if message.id]
    if thread is None or not ids:
        return
    try:
        await mask.vault.ahold(_key(thread), dict.fromkeys(ids, "refused"))
    except Exception as error:  # noqa: BLE001  # the error that is raised tells more than a foreign vault's
        failed("hold", error)


async def without_refused(mask: TurnMask, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return `messages` without those that were refused earlier."""
    thread = thread_of_run()
    if thread is None or not messages[:-1] or _known(mask, thread, messages[-2]):
        return list(messages)
    refused = await arefused_ids(mask, thread)
    return [*(message for message in messages[:-1] if safe_id(message.id) not in refused), messages[-1]]


async def arefused_ids(mask: TurnMask, thread: str) -> Collection[str]:
    """Return the ids of the messages of a thread that were refused, as far as the vault knows."""
    try:
        return await mask.vault.avalues(_key(thread))
    except Exception as error:  # noqa: BLE001  # whatever a foreign vault raises
        failed("values", error)
        return ()


def refused_ids(mask: TurnMask, thread: str) -> Collection[str]:
    """Do what `arefused_ids` does, blocking."""
    try:
        return mask.vault.values(_key(thread))
    except Exception as error:  # noqa: BLE001  # as above
        failed("values", error)
        return ()


def _came_in(mask: TurnMask, thread: str | None, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what came in with the input: all behind what was masked before.

    Where nothing was, after a restart, that is the newest message; with one that is not the user's all that no answer to
    the user parts from it. An answer at the end may be one of ours then, behind an earlier message that has come once more:
    so nothing is taken for refused, unless the thread begins with it.
    """
    known = [at for at, message in enumerate(messages) if thread is not None and _known(mask, thread, message)]
    if known or turn_start(messages) is None or is_first_of_thread():
        return list(messages[known[-1] + 1 if known else 0 :])
    if isinstance(messages[-1], HumanMessage):
        return [messages[-1]]
    if is_answer(messages[-1]):
        return []
    behind = takewhile(lambda message: not is_answer(message), reversed(messages[:-1]))
    return [messages[-1], *behind]


def _known(mask: TurnMask, thread: str, message: BaseMessage) -> bool:
    return mask.clean.has(thread, message)


def _key(thread: str) -> str:
    return hashlib.sha256(json.dumps([thread, "refused"]).encode()).hexdigest()
