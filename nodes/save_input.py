"""First node of a turn: check the user's message, give the turn an id, keep a summary of media and not the media."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage

from discreet.errors import EmptyInputError, InputError
from discreet.nodes.input_check import InputCheck, newest
from discreet.nodes.masking import TurnMask
from discreet.nodes.media import for_model, summarize_all, with_summaries
from discreet.nodes.node import Node, State, Update, read
from discreet.nodes.requests import new_request
from discreet.nodes.run import Run, describe_run
from discreet.nodes.short_term import tolerant
from discreet.nodes.turn import unanswered
from discreet.ports import Media, MediaSummarizer, ShortTermStore
from discreet.providers.media import GivenSummarizer
from discreet.state.text import storable

MAX_HELD_CHARS = 2_000_000
"""Of a message with media, in the vault while its turn runs: 1.5 MB of payload. Models take images of that size."""


def make_save_input(
    *,
    summarizer: MediaSummarizer | None = None,
    max_chars: int = 20_000,
    max_media_bytes: int = 20_000_000,
    mask: TurnMask | None = None,
    short_term: ShortTermStore | None = None,
    default_user: str | None = None,
    messages_key: str = "messages",
    request_key: str = "request",
    gate_key: str = "gate",
    memories_key: str = "memories",
) -> Node:
    """Return the node `save_input`.

    It takes the newest user message. Text loses NULs and lone surrogates; an image or a recording becomes its summary
    under the same message id, and its metadata goes to the conversation log. Messages of earlier turns that were
    refused, and so never answered, are removed. From here on all messages in the state have placeholders; `assistant`
    and `tools` get the real values from the vault of `mask`.

    Args:
        summarizer: Says what media holds. Default: shortens the transcript or caption that came along.
        max_chars: Longest text taken.
        max_media_bytes: Largest payload taken.
        mask: Redactor and vault; by default those of the process.
        short_term: Where the session becomes active; None keeps no sessions.
        default_user: user_id for runs that name none.
        messages_key: State key of the messages, for graphs with a schema of their own.
        request_key: State key of the running turn, set here.
        gate_key: State key of the gate's decision, emptied here.
        memories_key: State key of the retrieved memories, emptied here.

    Raises, when the node runs:
        InputError: The message is empty, too large or of a type that can't be taken; `code` says which.
    """
    summarizer = summarizer or GivenSummarizer()
    mask = mask or TurnMask()

    check = InputCheck(max_chars, max_media_bytes, messages_key)

    async def save_input(state: State) -> Update:
        run = describe_run(default_user=default_user)  # refuses an unusable user_id before anything is done
        messages: Sequence[BaseMessage] = read(state, messages_key, ())
        *earlier, message = _users_messages(messages)
        text, media = await asyncio.to_thread(check.message, message)
        summaries = await summarize_all(media, summarizer)
        kept = _as_text(text, media, summaries)
        request = new_request(message, media, mask.redactor.redact)
        refused = [RemoveMessage(id=m.id) for m in earlier if m.id and not _acceptable(m, check.message)]
        turn = await mask.turn(messages)
        said = message if kept == message.content else HumanMessage(kept, id=request["message_id"])
        if media:
            turn.keep(_for_vault(with_summaries(message, summaries)))
        gone = {m.id for m in refused}
        given = [*(m for m in messages[:-1] if m.id not in gone), said]
        masked, _ = await asyncio.gather(turn.masked(given), _touch(short_term, run))
        changed = [m for m, was in zip(masked, given, strict=True) if m is not was or m is said is not message]
        return {messages_key: [*refused, *changed], request_key: request, gate_key: None, memories_key: []}

    return Node("save_input", save_input, check=check)


async def _touch(short_term: ShortTermStore | None, run: Run) -> None:
    """Make the session active."""
    if short_term is not None and run.user_id is not None and run.thread_id is not None:
        await tolerant("touch", short_term.touch(run.user_id, run.thread_id), otherwise=None)


def _users_messages(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    """Return the user's messages that have no answer, the newest last.

    Raises:
        EmptyInputError: There is no message.
        UnsupportedInputError: The newest message is not the user's.
    """
    if not messages:
        raise EmptyInputError
    newest(messages)
    return [m for m in unanswered(messages) if isinstance(m, HumanMessage)]


def _acceptable(message: HumanMessage, check: Callable[[HumanMessage], object]) -> bool:
    try:
        check(message)
    except InputError:
        return False
    return True


def _as_text(text: str, media: Sequence[Media], summaries: Sequence[str]) -> str:
    """Return what is kept of a message: its text, and the summaries, marked as such unless one is all there is."""
    if not text and len(summaries) == 1:
        return storable(summaries[0])
    marked = [f"[{item.modality}] {summary}" for item, summary in zip(media, summaries, strict=True)]
    return storable("\n".join([*([text] if text else []), *marked]))


def _for_vault(message: HumanMessage) -> HumanMessage:
    """Return what the vault holds of a message with media: all of it, or its words where the payload is too large."""
    if len(str(message.content)) <= MAX_HELD_CHARS:
        return message
    return message.model_copy(update={"content": for_model(message.content, able=())})
