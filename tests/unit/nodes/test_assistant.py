import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from testkit.prompt_blocks import read_prompt

from discreet.nodes.assistant import SILENT, UNFINISHED, make_assistant, route_after_assistant
from discreet.nodes.prompting import Prompting
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.ports import RollingSummary
from discreet.providers.summaries import ExtractiveSummaryProvider
from discreet.providers.tokens import count_tokens
from discreet.testing import InMemoryRollingSummaries, ScriptedChatModel

CALL = {"name": "lookup", "args": {}, "id": "c1"}
MEMORY = {
    "entry_id": "1",
    "text": "Keeps parrots",
    "type": "user_fact",
    "created_at": "2026-01-01T00:00:00+00:00",
    "relevance": 0.9,
}


@tool
def lookup() -> str:
    """Look something up."""
    return "found"


def rounds(count):
    """`count` rounds of tool calls in one turn."""
    return [
        m
        for i in range(count)
        for m in (AIMessage("", tool_calls=[{**CALL, "id": f"c{i}"}]), ToolMessage("found", tool_call_id=f"c{i}"))
    ]


async def test_the_model_sees_instructions_facts_and_the_message(run_node):
    model = ScriptedChatModel(responses=[AIMessage("Yes.")])
    state = await run_node(make_assistant(model), {"messages": [HumanMessage("Do I?")], "memories": [MEMORY]})
    system, human = model.prompts[0]
    assert '- [user_fact] "Keeps parrots" (2026-01-01)' in system.content
    assert human.content == "Do I?"
    assert state["messages"][-1].content == "Yes."


async def test_many_memories_are_all_told(run_node):
    model = ScriptedChatModel(responses=[AIMessage("Yes.")])
    memories = [{**MEMORY, "text": f"fact {i} " + "word " * 40} for i in range(20)]
    await run_node(make_assistant(model), {"messages": [HumanMessage("Do I?")], "memories": memories})
    facts = read_prompt(model.prompts[0][0].content).blocks["known_facts"]
    assert [f"fact {i} " in line for i, line in enumerate(facts)] == [True] * 20


async def test_the_context_chooses_model_and_instructions(run_node):
    models = {None: ScriptedChatModel(responses=[]), "other": ScriptedChatModel(responses=[AIMessage("Hi.")])}
    node = make_assistant(models.__getitem__, system_prompt="Default.")
    await run_node(node, {"messages": [HumanMessage("Hi")]}, model="other", system_prompt="Be brief.")
    assert models["other"].prompts[0][0].content == "Be brief."


async def test_the_tool_loop_ends_with_the_models_last_words(run_node):
    model = ScriptedChatModel(responses=[AIMessage("This is all I found.")])
    state = await run_node(
        make_assistant(model, tools=[lookup], tool_loop_limit=3), {"messages": [HumanMessage("Go"), *rounds(3)]}
    )
    assert "limit of tool calls" in model.prompts[0][0].content
    assert state["messages"][-1].content == "This is all I found."


async def test_a_model_that_asks_for_tools_for_ever_still_ends_in_an_answer(run_node):
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[CALL])])
    state = await run_node(
        make_assistant(model, tools=[lookup], tool_loop_limit=3), {"messages": [HumanMessage("Go"), *rounds(3)]}
    )
    assert state["messages"][-1].content == UNFINISHED
    assert route_after_assistant(state) == "persist_filtered"


@pytest.mark.parametrize(
    ("last", "following"), [(AIMessage("", tool_calls=[CALL]), "tools"), (AIMessage("Done."), "persist_filtered")]
)
def test_the_edge_leads_to_the_tools_on_request(last, following):
    assert route_after_assistant({"messages": [HumanMessage("Go"), last]}) == following


async def test_the_oldest_rounds_are_shortened_first_and_the_running_turn_never(run_node):
    earlier = [m for i in range(12) for m in (HumanMessage(f"q{i} " + "word " * 600), AIMessage(f"a{i}"))]
    running = [HumanMessage("word " * 400), *rounds(1)]
    model = ScriptedChatModel(responses=[AIMessage("Yes.")])
    prompting = Prompting(context_window_size=8_000)
    await run_node(make_assistant(model, prompting=prompting), {"messages": [*earlier, *running]})
    system, *told = model.prompts[0]
    assert [m.content for m in told[-3:]] == [m.content for m in running]
    assert isinstance(told[0], HumanMessage)
    assert [m.content.split()[0] for m in told[-9:-3]] == ["q9", "a9", "q10", "a10", "q11", "a11"]
    lines = "\n".join(read_prompt(system.content).blocks["earlier_rounds"])
    assert all(f'- "q{i} word' in lines for i in range(12 - len(told[:-3]) // 2))


async def test_a_model_that_says_nothing_is_put_into_words(run_node):
    model = ScriptedChatModel(responses=[AIMessage(" ")])
    state = await run_node(make_assistant(model), {"messages": [HumanMessage("Go")]})
    assert state["messages"][-1].content == SILENT


async def test_the_summary_stands_in_the_prompt_for_the_rounds_that_it_covers(run_node):
    summaries = InMemoryRollingSummaries()
    earlier = [m for i in range(9) for m in (HumanMessage(f"q{i}", id=f"h{i}"), AIMessage(f"a{i}", id=f"i{i}"))]
    summary = RollingSummary(text="They spoke about boats.", rounds=3, last_message_id="i2")
    await summaries.commit(None, "thread-1", expected=RollingSummary(), new=summary)
    prompting = Prompting(summariser=RollingSummariser(summaries, ExtractiveSummaryProvider(), count_tokens))
    model = ScriptedChatModel(responses=[AIMessage("Yes.")])
    await run_node(make_assistant(model, prompting=prompting), {"messages": [*earlier, HumanMessage("And?")]})
    system, *told = model.prompts[0]
    assert read_prompt(system.content).blocks == {"conversation_summary": ['"They spoke about boats."']}
    assert [m.content for m in told] == [m.content for m in earlier[6:]] + ["And?"]
