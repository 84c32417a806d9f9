"""Where filtered turns go, one place failing alone."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from discreet.metrics import persist_failures
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.nodes.sinks import RoundSink, SummarySink, TurnSink
from discreet.providers.summaries import ExtractiveSummaryProvider
from discreet.providers.tokens import count_tokens
from discreet.state.records import MemoryFilters
from discreet.testing import InMemoryMemories, InMemoryRollingSummaries, InMemoryShortTermStore

ASKED = [HumanMessage("My mail is ann@example.com", id="m1"), AIMessage("Noted.", id="a1")]
NEXT = [HumanMessage("And my cat is Mia", id="m2"), AIMessage("A nice name.", id="a2")]


class Broken:
    name = "broken"

    async def write(self, turn):
        raise LookupError("ann@example.com")


@pytest.fixture
def short_term():
    return InMemoryShortTermStore()


async def test_the_round_is_kept_in_the_session(run_node, short_term):
    node = make_persist_filtered(sinks=[RoundSink(short_term)])
    await run_node(node, {"messages": ASKED}, user_id="ann")
    (kept,) = await short_term.recent_rounds("ann", "thread-1")
    assert (kept.input_text, kept.output_text) == ("My mail is <EMAIL>", "Noted.")
    assert await short_term.session_state("ann", "thread-1") == "ACTIVE"


async def test_an_unknown_user_has_no_session(run_node, short_term):
    await run_node(make_persist_filtered(sinks=[RoundSink(short_term)]), {"messages": ASKED})
    assert short_term._sessions == {}


async def test_a_turn_that_waits_for_a_result_is_one_round_once_it_goes_on(run_node, short_term):
    call = AIMessage("Let me look.", id="a0", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    node = make_persist_filtered(sinks=[RoundSink(short_term)])
    await run_node(node, {"messages": [ASKED[0], call]}, user_id="ann")
    assert await short_term.recent_rounds("ann", "thread-1") == []
    await run_node(
        node, {"messages": [ASKED[0], call, ToolMessage("a page", tool_call_id="c1"), ASKED[1]]}, user_id="ann"
    )
    (kept,) = await short_term.recent_rounds("ann", "thread-1")
    assert kept.output_text == "Noted."


async def test_turns_are_kept_at_their_places(run_node):
    memories = InMemoryMemories()
    node = make_persist_filtered(sinks=[TurnSink(memories)])
    await run_node(node, {"messages": ASKED}, user_id="ann")
    await run_node(node, {"messages": [*ASKED, *NEXT]}, user_id="ann")
    await run_node(node, {"messages": [*ASKED, *NEXT]}, user_id="ann")
    found = await memories.latest("ann", filters=MemoryFilters(types=["turn"]))
    assert {(turn.position, turn.text) for turn in found} == {
        (0, "User: My mail is <EMAIL>"),
        (1, "Assistant: Noted."),
        (2, "User: And my cat is Mia"),
        (3, "Assistant: A nice name."),
    }


async def test_every_fifth_round_goes_into_the_summary(run_node):
    summaries = InMemoryRollingSummaries()
    summariser = RollingSummariser(summaries, ExtractiveSummaryProvider(), count_tokens)
    node = make_persist_filtered(sinks=[SummarySink(summariser)])
    talk = [
        m
        for i in range(5)
        for m in (HumanMessage(f"I own boat number {i}", id=f"h{i}"), AIMessage("Noted.", id=f"i{i}"))
    ]
    await run_node(node, {"messages": talk[:8]}, user_id="ann")
    await summariser.drain()
    assert (await summaries.get("ann", "thread-1")).rounds == 0
    await run_node(node, {"messages": talk}, user_id="ann")
    await summariser.drain()
    assert (await summaries.get("ann", "thread-1")).rounds == 5


async def test_a_place_that_fails_costs_only_itself(run_node, short_term, caplog):
    before = persist_failures.labels("broken", "LookupError")._value.get()
    node = make_persist_filtered(sinks=[Broken(), RoundSink(short_term)])
    state = await run_node(node, {"messages": ASKED}, user_id="ann")
    assert state["messages"][-1].text == "Noted."
    assert len(await short_term.recent_rounds("ann", "thread-1")) == 1
    assert persist_failures.labels("broken", "LookupError")._value.get() == before + 1
    assert "persist_failed what=broken cause=LookupError" in caplog.text
    assert "ann@example.com" not in caplog.text


@pytest.mark.parametrize(("limit", "looped"), [(1, True), (2, False)])
async def test_a_turn_at_the_limit_of_tool_rounds_is_flagged(run_node, limit, looped):
    memories = InMemoryMemories()
    node = make_persist_filtered(sinks=[TurnSink(memories)], tool_loop_limit=limit)
    call = AIMessage("", id="a1", tool_calls=[{"name": "look_up", "args": {}, "id": "c1"}])
    result = ToolMessage("found", tool_call_id="c1", id="t1")
    await run_node(node, {"messages": [ASKED[0], call, result, AIMessage("Done.", id="a2")]}, user_id="ann")
    assert {turn.loop_flag for turn in await memories.latest("ann")} == {looped}
