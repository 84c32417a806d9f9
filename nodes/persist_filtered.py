"""Last node of a turn: keep what the user said and what was answered, redacted; drop everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from discreet.checkpoint.answers import is_answer, turn_answers
from discreet.checkpoint.kept_tools import kept_pairs
from discreet.checkpoint.message_ids import ANSWER
from discreet.checkpoint.messages import dangling
from discreet.errors import UserErasedError
from discreet.nodes.annotating import Annotating
from discreet.nodes.assistant import SILENT
from discreet.nodes.kept_texts import KeptTexts, Lazily
from discreet.nodes.masking import TurnMask
from discreet.nodes.media import with_summaries
from discreet.nodes.node import Node, State, Update, messages_in, read
from discreet.nodes.provenance import limit_was_hit, provenance
from discreet.nodes.query import query_of
from discreet.nodes.requests import new_request
from discreet.nodes.run import describe_run, kept_tools
from discreet.nodes.sinks import FilteredTurn, LogSink, Sink, write_all
from discreet.nodes.state_messages import redacted_copy
from discreet.nodes.turn import as_users, tool_rounds, turn_start, unanswered
from discreet.ports import ConversationLog, MediaSummarizer, TextRedactor, of_thread
from discreet.redaction import untagged
from discreet.state.message_text import as_content, is_persons, is_summary, spoken_blocks, text_of


def make_persist_filtered(
    *,
    log: ConversationLog | None = None,
    sinks: Sequence[Sink] = (),
    annotating: Annotating | None = None,
    mask: TurnMask | None = None,
    summarizer: MediaSummarizer | None = None,
    tool_loop_limit: int = 8,
    told_tools: Collection[str] = (),
    default_user: str | None = None,
    messages_key: str = "messages",
    request_key: str = "request",
    gate_key: str = "gate",
    memories_key: str = "memories",
    structured_key: str = "structured_response",
) -> Node:
    """Return the node `persist_filtered`.

    The user's message and what they saw as the answer, both redacted, go to `log` and to all of
    `sinks`. One that fails costs the turn its place there, never its answer; a log event and a metric say so. Under one of our
    checkpointers, or none, the state stays as it is: what of it is stored is the checkpointer's to say. Where somebody else stores it, the
    running turn shrinks to these two messages; tool calls, tool results, reasoning, system messages and everything else are removed, also
    what a turn that failed has left.

    A turn whose last call has no result waits for one of the client's tools. It goes to the same places with what was said so far,
    since the result may never come; the state stays as it is. Once it has come, the whole turn takes the place of that.

    Args:
        log: Where turns are logged; None logs nothing.
        sinks: Where else turns go, see `discreet.nodes.sinks`.
        annotating: Says what is noted of each turn; by default rules do, see `discreet.providers.annotator`.
        mask: Puts placeholders in place of sensitive values, and forgets the turn; by default the process's.
        summarizer: Says what images and recordings of the turn hold, once it is answered. Default: what came along with them; of a
            transcript its length and topics. Where nothing says it, kind and size are kept.
        tool_loop_limit: Rounds of tool calls from which on a turn counts as looped.
        told_tools: Names of tools with `return_direct` whose text may be kept as the answer.
        default_user: user_id for runs that name none.
        messages_key: State key of the messages, whose reducer must be LangGraph's `add_messages` or one like it.
        request_key: State key of the running turn. Graphs without it may leave it away: the turn gets an id here then.
        gate_key: State key of the gate's decision, emptied here.
        memories_key: State key of the retrieved memories, emptied here.
        structured_key: State key of an agent's structured response.

    Raises, when the node runs:
        UserErasedError: The user was erased since the turn began. Nothing of it is kept.
    """
    mask = mask or TurnMask()
    annotating = annotating or Annotating()
    kept_texts = KeptTexts()
    places = [*([LogSink(log)] if log is not None else []), *sinks]

    async def persist_filtered(state: State) -> Update:
        there = messages_in(state, messages_key)
        messages = as_users(there, read(state, request_key))
        waits = dangling(messages)
        turn = unanswered(messages)
        run = describe_run(default_user=default_user)
        redactor = of_thread(mask.redactor, run.thread_id)
        masked = await mask.turn(messages)
        # Of a tool's text a masked state has the beginning alone.
        whole = [masked.real([m])[0] if isinstance(m, ToolMessage) and m.name in told_tools else m for m in turn]
        seen: Sequence[BaseMessage] = answers(
            whole, structured=None if waits else read(state, structured_key), told_tools=told_tools, over=not waits
        )
        if turn and isinstance(turn[-1], ToolMessage):  # what a tool says was not masked whole before
            seen = await masked.masked(seen)
        summarised = [] if waits else await _summarised(masked.real(turn), summarizer)
        described = {message.id: message for message in summarised}
        keep = partial(kept_texts.message, run.thread_id, redactor=redactor)
        users = [described.get(m.id, m) for m in turn if is_persons(m)]
        pairs = await asyncio.to_thread(_pairs, turn, seen, redactor, kept_tools())
        called = {m.id for m in pairs}  # text beside a call may be the answer
        kept = await asyncio.to_thread(
            lambda: [
                *map(keep, users),
                *(keep(m.model_copy(update={"id": f"{m.id}{ANSWER}"}) if m.id in called else m) for m in seen),
            ]
        )
        earlier = [m for m in messages[: len(messages) - len(turn)] if not isinstance(m, SystemMessage)]
        spoken = [m for m in earlier if isinstance(m, HumanMessage) or is_answer(m)]
        start = turn_start(turn)
        if places and start is not None:
            request = read(state, request_key) or new_request(turn[start], run)
            said, answered = _texts(kept, HumanMessage)[-1], "\n".join(_texts(kept, AIMessage))
            heard = await query_of(state, mask, messages_key=messages_key, request_key=request_key)
            filtered = FilteredTurn(
                run=run,
                request=request,
                said=said,
                answered=answered,
                ended_at=datetime.now(UTC),
                looped=limit_was_hit(turn) or tool_rounds(messages) >= tool_loop_limit,
                provenance=provenance(turn, run, source="turns"),
                annotation=await annotating.annotate(
                    run, request, spoken, keep=keep, said=said, heard=heard, answered=answered
                ),
                conversation=Lazily([*spoken, *kept], keep),
                position=2 * (sum(map(is_persons, [*spoken, *kept])) - 1),
                waits=waits,
            )
            try:
                await write_all(filtered, places)
            except UserErasedError:
                await masked.forget()
                raise
        if waits:
            request = read(state, request_key)
            return {} if request is None else {request_key: {**request, "waits": True}}
        over: dict[str, Any] = {request_key: None, gate_key: None, memories_key: []}
        if not masked.is_masked:  # what of the state is stored is up to who stores it
            return {messages_key: summarised, **over} if summarised else over
        await masked.end([*pairs, *kept])
        kept_ids = {message.id for message in (*earlier, *filter(is_summary, turn), *pairs, *kept)}
        removed = [RemoveMessage(id=m.id) for m in there if m.id and m.id not in kept_ids]
        return {messages_key: [*removed, *pairs, *kept], **over}

    return Node("persist_filtered", persist_filtered, request_key=request_key)


def answers(
    turn: Sequence[BaseMessage], *, structured: Any = None, told_tools: Collection[str] = (), over: bool = True
) -> list[AIMessage]:
    """Return what the user was shown since their newest message, without reasoning; nothing is redacted.

    See `turn_answers`; a model that said nothing is quoted with a sentence that says so.
    """
    start = turn_start(turn)
    since = turn if start is None else turn[start + 1 :]
    shown = turn_answers(since, structured=structured, told_tools=told_tools, over=over)
    spoken = [message for message in since if isinstance(message, AIMessage)]
    if not shown and spoken and not spoken[-1].tool_calls:
        return [AIMessage(SILENT, id=spoken[-1].id)]
    results = {message.id for message in since if isinstance(message, ToolMessage)}
    return [_said(message, new_id=message.id in results) for message in shown]


def _said(message: AIMessage, *, new_id: bool) -> AIMessage:
    """Return the answer as text; what stands for a tool's result gets an id: streams leave out what they have shown."""
    return AIMessage(as_content(spoken_blocks(message)), id=str(uuid4()) if new_id else message.id)


async def _summarised(turn: Sequence[BaseMessage], summarizer: MediaSummarizer | None) -> list[HumanMessage]:
    """Return the user's messages of a turn whose media `summarizer` says something of, with that in their blocks."""
    given = [m for m in turn if is_persons(m) and isinstance(m, HumanMessage) and not isinstance(m.content, str)]
    found = await asyncio.gather(*(with_summaries(message, summarizer) for message in given))
    return [now for now, was in zip(found, given, strict=True) if now is not was]


def _pairs(
    turn: Sequence[BaseMessage], seen: Sequence[BaseMessage], redactor: TextRedactor, tools: Collection[str]
) -> list[BaseMessage]:
    """Return calls of `tools` with their results, redacted. What was called behind the answer would stand at the end of the thread."""
    if not tools:
        return []
    ids = {message.id for message in seen}
    ended = max((at for at, message in enumerate(turn) if is_answer(message) and message.id in ids), default=len(turn))
    kept = kept_pairs(turn[:ended], tools).values()
    bare = [m.model_copy(update={"artifact": None}) if isinstance(m, ToolMessage) else m for m in kept]
    return [redacted_copy(message, redactor, whole=True) for message in bare]


def _texts(kept: Sequence[BaseMessage], kind: type[BaseMessage]) -> list[str]:
    """Return the texts without tags: what is kept outlives the thread, and is found in other threads."""
    return [untagged(text_of(m)) for m in kept if isinstance(m, kind)]
