"""Last node of a turn: keep what the user said and what was answered, redacted; drop everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage

from discreet.checkpoint.messages import is_answer
from discreet.nodes.annotating import Annotating
from discreet.nodes.keepers import FilteredTurn, Keeper, LogKeeper, keep
from discreet.nodes.masking import TurnMask
from discreet.nodes.node import Node, State, Update, read
from discreet.nodes.provenance import limit_was_hit, provenance
from discreet.nodes.requests import new_request
from discreet.nodes.run import describe_run
from discreet.nodes.turn import tool_rounds, turn_start, unanswered
from discreet.ports import ConversationLog, of_thread
from discreet.redaction import untagged


def make_persist_filtered(
    *,
    log: ConversationLog | None = None,
    keepers: Sequence[Keeper] = (),
    annotating: Annotating | None = None,
    mask: TurnMask | None = None,
    tool_loop_limit: int = 8,
    default_user: str | None = None,
    messages_key: str = "messages",
    request_key: str = "request",
    gate_key: str = "gate",
    memories_key: str = "memories",
) -> Node:
    """Return the node `persist_filtered`.

    In the state, the running turn shrinks to the user's message and the answer, both redacted under their ids; tool
    calls, tool results, reasoning and everything else is removed, also what a turn that failed has left. Then the turn
    goes to `log` and to all of `keepers`. One that fails costs the turn its place there, never its answer; a log event and
    a metric say so.

    Args:
        log: Where turns are logged; None logs nothing.
        keepers: Where else turns go, see `discreet.nodes.keepers`.
        annotating: Says what is noted of each turn; by default rules do, see `discreet.providers.annotator`.
        mask: Puts placeholders in place of sensitive values, and forgets the turn; by default the process's.
        tool_loop_limit: Rounds of tool calls from which on a turn counts as looped.
        default_user: user_id for runs that name none.
        messages_key: State key of the messages, whose reducer must be LangGraph's `add_messages` or one like it.
        request_key: State key of the running turn. Graphs without it may leave it away: the turn gets an id here then.
        gate_key: State key of the gate's decision, emptied here.
        memories_key: State key of the retrieved memories, emptied here.
    """
    mask = mask or TurnMask()
    annotating = annotating or Annotating()
    places = [*([LogKeeper(log)] if log is not None else []), *keepers]

    async def persist_filtered(state: State) -> Update:
        messages: Sequence[BaseMessage] = read(state, messages_key, [])
        turn = unanswered(messages)
        run = describe_run(default_user=default_user)
        kept = filtered_turn(turn, of_thread(mask.redactor, run.thread_id).redact)
        kept_ids = {message.id for message in kept}
        removed = [RemoveMessage(id=m.id) for m in turn if m.id and m.id not in kept_ids]
        start = turn_start(turn)
        if places and start is not None:
            earlier = messages[: len(messages) - len(turn)]
            request = read(state, request_key) or new_request(turn[start])
            said, answered = _last_text(kept, HumanMessage), _last_text(kept, AIMessage)
            filtered = FilteredTurn(
                run=run,
                request=request,
                said=said,
                answered=answered,
                ended_at=datetime.now(UTC),
                looped=limit_was_hit(turn) or tool_rounds(messages) >= tool_loop_limit,
                provenance=provenance(turn, run, source="turns"),
                annotation=await annotating.annotate(run, request, said, answered, earlier),
                conversation=[*earlier, *kept],
            )
            await keep(filtered, places)
        await (await mask.turn(messages)).end(kept)
        return {messages_key: [*removed, *kept], request_key: None, gate_key: None, memories_key: []}

    return Node("persist_filtered", persist_filtered)


def filtered_turn(turn: Sequence[BaseMessage], redact: Callable[[str], str]) -> list[BaseMessage]:
    """Return the user's messages of a turn and the answer that ends it, of each its id and redacted text."""
    kept: list[BaseMessage] = [HumanMessage(redact(str(m.text)), id=m.id) for m in turn if isinstance(m, HumanMessage)]
    if turn and is_answer(turn[-1]):
        kept.append(AIMessage(redact(str(turn[-1].text)), id=turn[-1].id))
    return kept


def _last_text(kept: Sequence[BaseMessage], kind: type[BaseMessage]) -> str:
    """Return the text without tags: what is kept outlives the thread, and is found in other threads."""
    return next((untagged(str(m.text)) for m in reversed(kept) if isinstance(m, kind)), "")
