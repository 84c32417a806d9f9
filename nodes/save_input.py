"""First node of a turn: check the user's message, and give the turn an id."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.message_ids import safe_id
from discreet.checkpoint.messages import without_dead_calls
from discreet.checkpoint.run_input import orphans
from discreet.errors import EmptyInputError, InputError
from discreet.nodes.input_check import InputCheck, newest
from discreet.nodes.masking import TurnMask
from discreet.nodes.node import Node, State, Update, messages_in, read
from discreet.nodes.opening import TurnOpening, begin
from discreet.nodes.requests import new_request
from discreet.nodes.run import Run, describe_run, in_tool
from discreet.nodes.turn import turn_start, unanswered
from discreet.ports import BeginsWork, Media, ShortTermStore
from discreet.state.conversation import Request
from discreet.state.message_text import is_persons, text_blocks, text_of
from discreet.state.text import storable

TURN: Final = "turn"
"""Key of the response metadata of a caller's system message: with which of the user's messages it came. It holds for that turn."""


def make_save_input(
    *,
    max_chars: int = 20_000,
    max_media_bytes: int = 20_000_000,
    lenient: bool = False,
    mask: TurnMask | None = None,
    short_term: ShortTermStore | None = None,
    begins: BeginsWork | None = None,
    opening: TurnOpening | None = None,
    default_user: str | None = None,
    messages_key: str = "messages",
    request_key: str = "request",
    gate_key: str = "gate",
    memories_key: str = "memories",
) -> Node:
    """Return the node `save_input`.

    It takes the newest user message. Text loses NULs and lone surrogates; metadata of images and recordings go to the
    conversation log. What earlier turns have left that were refused, or failed and were tried again, is removed, and the system
    messages of a turn that failed; another message that waits for an answer stays. Results of calls in which the turn ended, for
    tools of the client, go on with that turn. Where somebody else stores the state, all messages in it have placeholders from
    here on; `assistant` and `tools` get the real values from the vault of `mask`.

    Args:
        max_chars: Longest text taken.
        max_media_bytes: Largest payload taken.
        lenient: Take whatever comes, and leave all messages where they are; one that is not the user's begins no turn, nor does what an agent
            asks another one in a tool.
        mask: Redactor and vault; by default those of the process.
        short_term: Where the session becomes active; None keeps no sessions.
        begins: Says what the turn's work is known by, so that nothing of it is stored once the user was erased; for example
            `storage.log`. Not asked where `short_term` says it.
        opening: Asks for both with what else the turn needs, in a later node of the same graph.
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

    async def taken(
        messages: Sequence[BaseMessage], running: Request | None
    ) -> tuple[HumanMessage, list[BaseMessage], Sequence[Media]]:
        """Return the message that is to be answered, what stays of the thread before it, and its media."""
        message = _users_message(messages, running)
        media = await _media(check, message)
        left = [each for each in messages if not _is_past(each, message.id)]
        if running is not None and running.get("waits"):
            left = [each for each in without_dead_calls(left, None) if not _is_traffic(each)]
        gone = {id(each) for each in unanswered(left) if each is not message and not await _may_stay(check, each)}
        return message, [each for each in left if each is not message and id(each) not in gone], media

    async def begun(run: Run) -> str | None:
        return None if opening is not None and opening.comes_in_time(run) else await begin(short_term, begins, run)

    async def save_input(state: State) -> Update:
        messages = messages_in(state, messages_key)
        running: Request | None = read(state, request_key)
        if results := _results(messages, running):
            taken_results = {messages_key: await (await mask.turn(messages)).masked(results)}
            return taken_results if running is None else {**taken_results, request_key: {**running, "waits": False}}
        run = describe_run(default_user=default_user)
        if begins is not None and not messages:  # LangGraph begins a thread anew whose paused turn is to be resumed
            await begins.check_run(run.user_id, run.thread_id or "", datetime.now(UTC) - timedelta(seconds=mask.pause))
        if lenient and (in_tool() or not (messages and isinstance(messages[-1], HumanMessage))):
            masked = await (await mask.turn(messages)).masked(messages)
            changed = [now for now, was in zip(masked, messages, strict=True) if now is not was]
            return {messages_key: changed, request_key: None, gate_key: None, memories_key: []}
        if lenient:
            message, before, media = messages[-1], messages[:-1], await _media_if_any(check, messages[-1])
        else:
            message, before, media = await taken(messages, running)
        request = new_request(message, run, media, mask.redactor.redact)
        message = message if message.id else message.model_copy(update={"id": request["message_id"]})
        turn = await mask.turn([*before, message])
        masked, began, said = await asyncio.gather(
            turn.masked([*before, message if lenient else _cleaned(message)]),
            begun(run),
            asyncio.to_thread(mask.as_kept, text_of(message)),
        )
        request["said"] = said
        request["said_ids"] = [str(safe_id(m.id)) for m in unanswered([*before, message]) if is_persons(m)]
        if began is not None:
            request["began"] = began
        stays = masked if lenient else _once([_with_turn(each, request["message_id"]) for each in masked])
        was, ids = {id(m) for m in read(state, messages_key, ())}, {m.id for m in stays}
        gone = [RemoveMessage(id=m.id) for m in messages if m.id and m.id not in ids]
        changed = [m for m in stays if id(m) not in was]
        return {messages_key: [*gone, *changed], request_key: request, gate_key: None, memories_key: []}

    return Node("save_input", save_input, check=None if lenient else check, mask=mask, request_key=None)


def _users_message(messages: Sequence[BaseMessage], request: Request | None) -> HumanMessage:
    """Return the message that is to be answered: the newest.

    A retry under the id of a message whose turn failed finds what that turn had done behind it.

    Raises:
        EmptyInputError: There is no message.
        UnsupportedInputError: The newest message is not the user's.
    """
    if not messages:
        raise EmptyInputError
    message = messages[turn_start(messages) or 0]
    is_retry = request is not None and request["message_id"] == message.id and not is_answer(messages[-1])
    return message if is_retry and isinstance(message, HumanMessage) else newest(messages)


async def _media(check: InputCheck, message: HumanMessage) -> Sequence[Media]:
    """Return the media of a message that can be taken; payloads are hashed in a thread."""
    if isinstance(message.content, str):
        return check.message(message)[1]
    return (await asyncio.to_thread(check.message, message))[1]


async def _media_if_any(check: InputCheck, message: BaseMessage) -> Sequence[Media]:
    try:
        return await _media(check, message) if isinstance(message, HumanMessage) else ()
    except InputError:
        return ()


async def _may_stay(check: InputCheck, message: BaseMessage) -> bool:
    """Return whether a message that has no answer stays: a system message, or the user's if it could be taken."""
    try:
        return isinstance(message, SystemMessage) or (
            isinstance(message, HumanMessage) and await _media(check, message) is not None
        )
    except InputError:
        return False


def _is_traffic(message: BaseMessage) -> bool:
    """Whether `message` is of the tools of the turn before, which waited for a result and goes on no more."""
    return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(message.tool_calls))


def _cleaned(message: BaseMessage) -> BaseMessage:
    """Return a message without what no database takes and providers refuse: NULs and lone surrogates."""
    if all(storable(text) == text for text in text_blocks(message.content)):
        return message
    if isinstance(message.content, str):
        return message.model_copy(update={"content": storable(message.content)})
    blocks = [
        {**block, "text": storable(block["text"])}
        if isinstance(block, dict) and isinstance(block.get("text"), str)
        else block
        for block in message.content
    ]
    return message.model_copy(update={"content": blocks})


def _once(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return `messages` without those before the newest that waited for an answer and say the same: it was tried again."""
    said = messages[-1]
    repeated = {m.id for m in unanswered(messages)[:-1] if isinstance(m, HumanMessage) and m.content == said.content}
    return [each for each in messages if each.id not in repeated or each is said]


def _results(messages: Sequence[BaseMessage], request: Request | None) -> list[BaseMessage]:
    """Return the results that a run brings for the calls in which its turn has ended; none if it brings anything else."""
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages)))
    start = turn_start(messages)
    is_open = start is not None and not any(map(is_answer, messages[start:]))
    goes_on = is_open if request is None else request.get("waits")
    return results[::-1] if goes_on and not orphans(messages) else []


def _with_turn(message: BaseMessage, message_id: str) -> BaseMessage:
    """Return `message`; a system message with a note that it holds for the turn of the user's message of that id."""
    if not isinstance(message, SystemMessage):
        return message
    return message.model_copy(update={"response_metadata": {**message.response_metadata, TURN: safe_id(message_id)}})


def _is_past(message: BaseMessage, message_id: str | None) -> bool:
    """Whether `message` is a system message that came with another of the user's messages than the one of that id."""
    if not isinstance(message, SystemMessage):
        return False
    turn = message.response_metadata.get(TURN)
    return turn is not None and turn != safe_id(message_id)
