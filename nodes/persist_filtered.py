"""Last node of a turn: keep what the user said and what was answered, redacted; drop everything else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.errors import GraphBubbleUp

from discreet.checkpoint.messages import is_answer
from discreet.metrics import persist_failures
from discreet.nodes.masking import TurnMask
from discreet.nodes.node import Node, State, Update, read
from discreet.nodes.run import Run, describe_run
from discreet.nodes.turn import unanswered
from discreet.ports import ConversationLog, of_thread
from discreet.redaction import untagged
from discreet.state.conversation import Request
from discreet.state.records import TurnRecord

logger = logging.getLogger(__name__)


def make_persist_filtered(
    *,
    log: ConversationLog | None = None,
    mask: TurnMask | None = None,
    default_user: str | None = None,
    messages_key: str = "messages",
) -> Node:
    """Return the node `persist_filtered`.

    In the state, the running turn shrinks to the user's message and the answer, both redacted under their ids; tool
    calls, tool results, reasoning and everything else is removed, also what a turn that failed has left. Then the turn
    goes to `log`. A log that fails costs the turn its row there, never its answer; a log event and a metric say so.

    Args:
        log: Where turns are logged; None logs nothing.
        mask: Puts placeholders in place of sensitive values, and forgets the turn; by default the process's.
        default_user: user_id for runs that name none.
        messages_key: State key of the messages, whose reducer must be LangGraph's `add_messages` or one like it.
    """
    mask = mask or TurnMask()

    async def persist_filtered(state: State) -> Update:
        messages: Sequence[BaseMessage] = read(state, messages_key, [])
        turn = unanswered(messages)
        run = describe_run(default_user=default_user)
        kept = filtered_turn(turn, of_thread(mask.redactor, run.thread_id).redact)
        kept_ids = {message.id for message in kept}
        removed = [RemoveMessage(id=m.id) for m in turn if m.id and m.id not in kept_ids]
        request: Request | None = read(state, "request")
        if log is not None and request is not None:
            await _append(log, _turn_record(run, request, kept))
        await (await mask.turn(messages)).end(kept)
        return {messages_key: [*removed, *kept], "request": None, "gate": None, "memories": []}

    return Node("persist_filtered", persist_filtered)


def filtered_turn(turn: Sequence[BaseMessage], redact: Callable[[str], str]) -> list[BaseMessage]:
    """Return the user's messages of a turn and the answer that ends it, of each its id and redacted text."""
    kept: list[BaseMessage] = [HumanMessage(redact(str(m.text)), id=m.id) for m in turn if isinstance(m, HumanMessage)]
    if turn and is_answer(turn[-1]):
        kept.append(AIMessage(redact(str(turn[-1].text)), id=turn[-1].id))
    return kept


def _turn_record(run: Run, request: Request, kept: Sequence[BaseMessage]) -> TurnRecord:
    # The log outlives the thread, and what is learned from it is found in other threads.
    said = [untagged(str(m.text)) for m in kept if isinstance(m, HumanMessage)]
    answered = [untagged(str(m.text)) for m in kept if isinstance(m, AIMessage)]
    return TurnRecord(
        request_id=request["request_id"],
        user_id=run.user_id,
        thread_id=run.thread_id or request["request_id"],
        app_name=run.context.app_name,
        agent_id=run.context.agent_id,
        modality=request["modality"],
        media=request.get("media"),
        input_text=said[-1] if said else "",
        output_text=answered[-1] if answered else "",
        started_at=datetime.fromisoformat(request["started_at"]),
        ended_at=datetime.now(UTC),
    )


async def _append(log: ConversationLog, turn: TurnRecord) -> None:
    try:
        await log.append(turn)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  # the user has the answer; a foreign log may raise anything
        cause = type(error).__name__
        persist_failures.labels(cause).inc()
        logger.warning("conversation_log_failed cause=%s request_id=%s", cause, turn.request_id)
