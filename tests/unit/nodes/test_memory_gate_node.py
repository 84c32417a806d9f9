import logging

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from prometheus_client import REGISTRY
from testkit.prompt_blocks import read_prompt

from discreet.nodes.memory_gate import GateDecision, decide_by_rules, make_memory_gate, route_after_gate
from discreet.nodes.turn import query_text
from discreet.ports import SpokenRound
from discreet.testing import InMemoryMemories, ScriptedChatModel

OPEN = "Where is the parcel?"


def state(text):
    return {"messages": [HumanMessage(text)]}


def count(metric, **labels):
    return REGISTRY.get_sample_value(f"discreet_gate_{metric}_total", labels) or 0


async def test_the_node_reads_the_newest_user_message():
    gate = make_memory_gate()
    turns = {"messages": [HumanMessage("what did I say?"), AIMessage("…"), HumanMessage("thanks!")]}
    assert await gate(turns) == {"gate": {"retrieve": False, "reason": "thanks"}}


EMAIL = "<EMAIL:7K2QX3MD>"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], None),
        ([HumanMessage("not answered")], None),
        (
            [HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d")],
            SpokenRound(said="c", answered="d"),
        ),
        (
            [HumanMessage(f"to {EMAIL}"), AIMessage(f"sent to {EMAIL}")],
            SpokenRound(said="to <EMAIL>", answered="sent to <EMAIL>"),
        ),
        (
            [
                HumanMessage("a"),
                AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}]),
                ToolMessage("r", tool_call_id="1"),
                AIMessage("b"),
            ],
            SpokenRound(said="a", answered="b"),
        ),
    ],
)
async def test_the_node_hands_on_the_round_before(messages, expected):
    given = []

    def listen(text, previous):
        given.append(previous)
        return GateDecision(retrieve=True, reason="x")

    await make_memory_gate(decide=listen)({"messages": [*messages, HumanMessage("and when is it?")]})
    assert given == [expected]


@pytest.mark.slow
async def test_a_follow_up_is_decided_by_the_round_before():
    gate = make_memory_gate()
    asked = HumanMessage("And how long do they live?")
    general = [HumanMessage("What do axolotls eat?"), AIMessage("Worms.")]
    own = [HumanMessage("What did I name my axolotls?"), AIMessage("Bob and Ann.")]
    assert await gate({"messages": [*general, asked]}) == {"gate": {"retrieve": False, "reason": "scored"}}
    assert (await gate({"messages": [*own, asked]}))["gate"]["retrieve"]


async def test_the_small_model_is_told_the_round_before():
    model = ScriptedChatModel(responses=[AIMessage("SKIP")])
    before = [HumanMessage("Look for the parcel"), AIMessage("It is on its way.")]
    await make_memory_gate(small_model=model)({"messages": [*before, HumanMessage(OPEN)]})
    (prompt,) = model.prompts
    before = read_prompt(prompt[-1].content).blocks["before"]
    assert before == ['"Look for the parcel"', '"It is on its way."']


async def test_the_node_works_in_a_foreign_state():
    gate = make_memory_gate(messages_key="chat", gate_key="needs_memory")
    assert (await gate({"chat": [HumanMessage("my dog")]}))["needs_memory"]["retrieve"]


async def test_decisions_are_counted_by_reason():
    before = count("decisions", decision="skip", reason="greeting")
    await make_memory_gate()(state("hello"))
    assert count("decisions", decision="skip", reason="greeting") == before + 1


async def test_the_gate_and_the_retrieval_read_the_same_text(run_node):
    from discreet.nodes.retrieve_memories import make_retrieve_memories

    read, searched = [], []

    def listen(text, previous):
        read.append(text)
        return GateDecision(retrieve=True, reason="x")

    class Listening(InMemoryMemories):
        async def search(self, user_id, query, **options):
            searched.append(query)
            return []

    turn = state("write to <EMAIL:7K2QX3MD> about the parcel")
    await make_memory_gate(decide=listen)(turn)
    await run_node(make_retrieve_memories(memories=Listening()), turn, user_id="ann")
    assert read == searched == [query_text(turn["messages"])] == ["write to <EMAIL> about the parcel"]


async def test_an_error_of_decide_retrieves(caplog):
    def broken(text, previous):
        raise ValueError(text)

    before = count("failures", part="decide", cause="ValueError")
    with caplog.at_level(logging.WARNING):
        update = await make_memory_gate(decide=broken)(state("my secret"))
    assert update == {"gate": {"retrieve": True, "reason": "failed"}}
    assert caplog.messages == ["gate_failed cause=ValueError"]
    assert count("failures", part="decide", cause="ValueError") == before + 1


async def test_a_state_that_holds_no_messages_retrieves():
    assert (await make_memory_gate()({"messages": [1]}))["gate"]["retrieve"] in {True, False}
    assert await make_memory_gate()({"messages": 5}) == {"gate": {"retrieve": True, "reason": "failed"}}


@pytest.mark.parametrize(("answer", "retrieve"), [("USE", True), ("SKIP", False), (" skip.\n", False)])
async def test_the_small_model_decides_what_rules_leave_open(answer, retrieve):
    model = ScriptedChatModel(responses=[AIMessage(answer)])
    update = await make_memory_gate(small_model=model)(state(OPEN))
    assert update == {"gate": {"retrieve": retrieve, "reason": "small_model"}}
    (prompt,) = model.prompts
    assert read_prompt(prompt[-1].content).blocks == {"message": [f'"{OPEN}"']}


async def test_rules_come_before_the_small_model():
    model = ScriptedChatModel(responses=[])
    assert (await make_memory_gate(small_model=model)(state("hello")))["gate"]["reason"] == "greeting"
    assert model.prompts == []


@pytest.mark.parametrize(
    ("response", "cause"),
    [
        (AIMessage("I would SKIP it"), "no_answer"),
        (AIMessage(""), "no_answer"),
        (ConnectionError("secret"), "ConnectionError"),
    ],
)
async def test_no_clear_answer_retrieves(response, cause, caplog):
    before = count("failures", part="model", cause=cause)
    with caplog.at_level(logging.WARNING):
        update = await make_memory_gate(small_model=ScriptedChatModel(responses=[response]))(state(OPEN))
    assert update == {"gate": {"retrieve": True, "reason": "model_failed"}}
    assert caplog.messages == [f"gate_model_failed cause={cause}"]
    assert count("failures", part="model", cause=cause) == before + 1


async def test_a_slow_model_is_not_waited_for(caplog):
    import asyncio

    class Slow(ScriptedChatModel):
        async def _agenerate(self, *args, **kwargs):
            await asyncio.Event().wait()

    update = await make_memory_gate(small_model=Slow(responses=[]), timeout=0.01)(state(OPEN))
    assert update["gate"] == {"retrieve": True, "reason": "model_failed"}
    assert caplog.messages == ["gate_model_failed cause=TimeoutError"]


async def test_a_decide_of_ones_own_keeps_its_word_and_hands_on_what_it_calls_unsure():
    model = ScriptedChatModel(responses=[AIMessage("SKIP")])
    gate = make_memory_gate(decide=decide_by_rules, small_model=model)
    assert (await gate(state("my dog")))["gate"]["reason"] == "own_facts"
    assert (await gate(state(OPEN)))["gate"]["reason"] == "small_model"


async def test_the_small_models_words_are_no_part_of_the_stream():
    from langgraph.graph import START, StateGraph

    from discreet.state.conversation import ConversationState

    builder = StateGraph(ConversationState)
    builder.add_node("memory_gate", make_memory_gate(small_model=ScriptedChatModel(responses=[AIMessage("SKIP")])))
    builder.add_edge(START, "memory_gate")
    assert [chunk async for chunk in builder.compile().astream(state(OPEN), stream_mode="messages")] == []


@pytest.mark.parametrize(
    ("gate", "following"),
    [
        ({"retrieve": True, "reason": "unsure"}, "retrieve_memories"),
        ({"retrieve": False, "reason": "greeting"}, "assistant"),
        (None, "retrieve_memories"),
    ],
)
def test_the_edge_leads_past_retrieval_on_skip(gate, following):
    assert route_after_gate({"messages": [], "gate": gate}) == following
    assert route_after_gate({"needs_memory": gate}, gate_key="needs_memory") == following
