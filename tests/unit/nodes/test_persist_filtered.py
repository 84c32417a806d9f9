from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from discreet.metrics import persist_failures
from discreet.nodes.masking import TurnMask
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.save_input import make_save_input
from discreet.redaction.configured import default_redactor
from discreet.testing import InMemoryConversationLog

MASKED = TurnMask(masks=True)
CALL = {"name": "lookup", "args": {"q": "RAW-ARG"}, "id": "call-1"}
REQUEST = {
    "request_id": "r1",
    "message_id": "m1",
    "modality": "voice",
    "media": [{"mime": "audio/ogg", "durationMs": 10}],
    "started_at": "2026-01-02T03:04:05+00:00",
}


def placeholder():
    """Return what stands for the address in this thread, with a tag."""
    return default_redactor().for_thread("thread-1").redact("ann@example.com")


def turn():
    return [
        HumanMessage("earlier", id="e1"),
        AIMessage("earlier answer", id="e2"),
        HumanMessage("Write to ann@example.com", id="m1", additional_kwargs={"x": "RAW-KWARG"}),
        SystemMessage("RAW-PROMPT", id="s1"),
        AIMessage("RAW-THOUGHT", id="a1", tool_calls=[CALL]),
        ToolMessage("RAW-RESULT", id="t1", tool_call_id="call-1", artifact={"x": "RAW-ARTIFACT"}),
        AIMessage(
            [{"type": "reasoning", "reasoning": "RAW-REASONING"}, {"type": "text", "text": "Sent to ann@example.com."}],
            id="a2",
            response_metadata={"id": "RAW-METADATA"},
        ),
    ]


async def test_an_open_state_stays_as_it_is(run_node):
    state = await run_node(make_persist_filtered(), {"messages": turn(), "request": REQUEST})
    assert state["messages"] == turn()
    assert state["request"] is None


async def test_a_masked_turn_shrinks_to_the_redacted_message_and_answer(run_node):
    state = await run_node(make_persist_filtered(mask=MASKED), {"messages": turn(), "request": REQUEST})
    assert [(m.type, m.id, m.content) for m in state["messages"]] == [
        ("human", "e1", "earlier"),
        ("ai", "e2", "earlier answer"),
        ("human", "m1", f"Write to {placeholder()}"),
        ("ai", "a2", f"Sent to {placeholder()}."),
    ]
    assert "RAW-" not in repr(state)


async def test_a_turn_that_ends_in_a_call_waits_for_the_client_with_its_result(run_node):
    log = InMemoryConversationLog()
    waiting = await run_node(make_persist_filtered(log=log, mask=MASKED), {"messages": turn()[:5], "request": REQUEST})
    assert waiting["messages"] == turn()[:5]
    assert [(each.request_id, each.output_text) for each in log.turns] == [(REQUEST["request_id"], "RAW-THOUGHT")]
    result = ToolMessage("Write to bob@example.com", id="t1", tool_call_id="call-1")
    taken = await run_node(make_save_input(mask=MASKED), {**waiting, "messages": [*waiting["messages"], result]})
    assert taken["messages"][:5] == turn()[:5]
    assert "bob@" not in taken["messages"][5].text
    done = {**taken, "messages": [*taken["messages"], AIMessage("Done.", id="a2")]}
    state = await run_node(make_persist_filtered(log=log, mask=MASKED), done)
    assert [(m.id, m.content) for m in state["messages"][3:]] == [("a2", "Done.")]
    assert [(each.request_id, each.output_text) for each in log.turns] == [(REQUEST["request_id"], "Done.")]


async def test_of_several_answers_all_are_kept_and_logged(run_node):
    log = InMemoryConversationLog()
    said = [HumanMessage("Hello", id="m1"), AIMessage("One.", id="a1"), AIMessage("Two.", id="a2"), SystemMessage("x")]
    state = await run_node(make_persist_filtered(log=log, mask=MASKED), {"messages": said})
    assert [m.id for m in state["messages"]] == ["m1", "a1", "a2"]
    assert log.turns[0].output_text == "One.\nTwo."


async def test_the_channels_of_the_turn_are_emptied(run_node):
    state = await run_node(
        make_persist_filtered(),
        {
            "messages": turn(),
            "request": REQUEST,
            "gate": {"retrieve": True, "reason": "x"},
            "memories": [{"text": "x"}],
        },
    )
    assert (state["request"], state["gate"], state["memories"]) == (None, None, [])


async def test_the_turn_is_logged_redacted(run_node):
    log = InMemoryConversationLog()
    await run_node(
        make_persist_filtered(log=log), {"messages": turn(), "request": REQUEST}, thread_id="thread-9", user_id="ann"
    )
    (logged,) = log.turns
    assert (logged.user_id, logged.thread_id, logged.request_id) == ("ann", "thread-9", "r1")
    assert (logged.input_text, logged.output_text) == ("Write to <EMAIL>", "Sent to <EMAIL>.")
    assert (logged.modality, logged.media) == ("voice", [{"mime": "audio/ogg", "durationMs": 10}])


async def test_a_log_that_fails_costs_the_row_and_not_the_answer(run_node, caplog):
    class Failing(InMemoryConversationLog):
        async def append(self, turn):
            raise ConnectionError("RAW-DETAIL")

    before = persist_failures.labels("conversation_log", "ConnectionError")._value.get()
    state = await run_node(make_persist_filtered(log=Failing()), {"messages": turn(), "request": REQUEST})
    assert state["messages"][-1].text == "Sent to ann@example.com."
    assert persist_failures.labels("conversation_log", "ConnectionError")._value.get() == before + 1
    assert "RAW-DETAIL" not in caplog.text


async def test_it_works_in_a_graph_without_save_input(run_node):
    node = make_persist_filtered(log=InMemoryConversationLog(), mask=MASKED)
    state = await run_node(node, {"messages": turn()})
    assert len(state["messages"]) == 4
