"""First node of a turn: check the user's message, give the turn an id, keep a summary of media and not the media."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage

from discreet.access.epochs import NEVER_ERASED, Beginning, run_began_after
from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.run_input import orphans
from discreet.errors import InputError
from discreet.nodes.input_check import InputCheck
from discreet.nodes.masking import TurnMask
from discreet.nodes.media import for_model, with_summaries
from discreet.nodes.node import Node, State, Update, messages_in, read
from discreet.nodes.refused import note_refused
from discreet.nodes.requests import new_request
from discreet.nodes.run import Run, control_of_run, describe_run
from discreet.nodes.short_term import tolerant
from discreet.nodes.system_messages import with_turn
from discreet.nodes.taking import Taking
from discreet.nodes.turn import turn_start, unanswered
from discreet.ports import BeginsWork, MediaSummarizer, ShortTermStore
from discreet.state.conversation import Request
from discreet.state.message_text import text_of

MAX_HELD_CHARS = 2_000_000
"""Of a message with media, in the vault while its turn runs: 1.5 MB of payload. Models take images of that size."""


def make_save_input(
    *,
    summarizer: MediaSummarizer | None = None,
    max_chars: int = 20_000,
    max_media_bytes: int = 20_000_000,
    mask: TurnMask | None = None,
    short_term: ShortTermStore | None = None,
    begins: BeginsWork | None = None,
    default_user: str | None = None,
    messages_key: str = "messages",
    request_key: str = "request",
    gate_key: str = "gate",
    memories_key: str = "memories",
) -> Node:
    """Return the node `save_input`.

    It takes the newest user message. Text loses NULs and lone surrogates; an image or a recording becomes its summary
    under the same message id, and its metadata goes to the conversation log. What earlier turns have left that were
    refused, or failed and were tried again, is removed, and the system messages of a turn that failed; another message that
    waits for an answer stays. Results of calls in which the turn ended, for tools of the client, go on with that turn. From here on all messages in the state have placeholders; `assistant` and `tools` get the real
    values from the vault of `mask`.

    Args:
        summarizer: Says what media holds. Default: the caption that came along, or length and topics of the transcript.
        max_chars: Longest text taken.
        max_media_bytes: Largest payload taken.
        mask: Redactor and vault; by default those of the process.
        short_term: Where the session becomes active; None keeps no sessions.
        begins: Says what the turn's work is known by, so that nothing of it is stored once the user was erased; for example
            `storage.log`. Not asked where `short_term` says it.
        default_user: user_id for runs that name none.
        messages_key: State key of the messages, for graphs with a schema of their own.
        request_key: State key of the running turn, set here.
        gate_key: State key of the gate's decision, emptied here.
        memories_key: State key of the retrieved memories, emptied here.

    Raises, when the node runs:
        InputError: The message is empty, too large or of a type that can't be taken; `code` says which.
        UserErasedError: The user was erased between the run's beginning and this, or while the turn waited that it answers.
    """
    mask = mask or TurnMask()
    check = InputCheck(max_chars, max_media_bytes, messages_key)
    taking = Taking(check=check, mask=mask, summarizer=summarizer)

    async def save_input(state: State) -> Update:
        messages = messages_in(state, messages_key)
        running: Request | None = read(state, request_key)
        if results := _results(messages, running):
            taken_results = {messages_key: await (await mask.turn(messages)).masked(results)}
            return taken_results if running is None else {**taken_results, request_key: {**running, "waits": False}}
        try:
            run = describe_run(default_user=default_user)
            if begins is not None and not messages:  # LangGraph begins a thread anew whose paused turn is to be resumed
                await begins.check_run(
                    run.user_id, run.thread_id or "", datetime.now(UTC) - timedelta(seconds=mask.pause)
                )
            new = await taking.newest(messages, running)
        except InputError:
            await note_refused(mask, messages)
            raise
        request = new_request(new.message, run, new.media, mask.redactor.redact)
        turn = await mask.turn([*new.before, new.message])
        taken = new.said(request["message_id"])
        if new.media:
            turn.keep(_for_vault(with_summaries(new.message, new.summaries)))
        elif isinstance(taken.content, list):  # the model gets its texts as one
            turn.keep(taken.model_copy(update={"content": text_of(taken)}))
        masked, began = await asyncio.gather(turn.masked([*new.before, taken]), _begin(short_term, begins, run))
        if began is not None:
            request["began"] = began
        *before, said = (with_turn(message, request["message_id"]) for message in masked)
        repeated = {m.id for m in unanswered(masked)[:-1] if isinstance(m, HumanMessage) and m.content == said.content}
        stays = [*(m for m in before if m.id not in repeated), said]
        was, ids = {id(m) for m in read(state, messages_key, ())}, {m.id for m in stays}
        gone = [RemoveMessage(id=m.id) for m in messages if m.id and m.id not in ids]
        changed = [m for m in stays if id(m) not in was]
        return {messages_key: [*gone, *changed], request_key: request, gate_key: None, memories_key: []}

    return Node("save_input", save_input, check=check, mask=mask, request_key=None)


def _results(messages: Sequence[BaseMessage], request: Request | None) -> list[BaseMessage]:
    """Return the results that a run brings for the calls in which its turn has ended; none if it brings anything else."""
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages)))
    start = turn_start(messages)
    is_open = start is not None and not any(map(is_answer, messages[start:]))
    goes_on = is_open if request is None else request.get("waits")
    return results[::-1] if goes_on and not orphans(messages) else []


async def _begin(short_term: ShortTermStore | None, begins: BeginsWork | None, run: Run) -> str | None:
    """Make the session active; return what the turn's work is known by. If nobody can say now: the time.

    Raises:
        UserErasedError: The user was erased since the run began, which has stored their message by now.
    """
    now = str(Beginning(None, at=datetime.now(UTC)))
    began = None
    if short_term is not None and run.user_id is not None and run.thread_id is not None:
        began = await tolerant("touch", short_term.touch(run.user_id, run.thread_id), otherwise=None)
    if begins is None or (run.user_id is None and run.thread_id is None):
        return began
    if began is None:
        began = await tolerant("begin", begins.begin(run.user_id, run.thread_id or ""), otherwise=now)
    if Beginning.of(began).epoch > NEVER_ERASED and (after := run_began_after(control_of_run())) is not None:
        await begins.check_run(run.user_id, run.thread_id or "", after)
    return began


def _for_vault(message: HumanMessage) -> HumanMessage:
    """Return what the vault holds of a message with media: all of it, or its words where the payload is too large."""
    if len(str(message.content)) <= MAX_HELD_CHARS:
        return message
    return message.model_copy(update={"content": for_model(message.content, able=())})
