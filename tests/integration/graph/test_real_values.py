"""Under anybody's checkpointer the latest state has placeholders, while the model and the tools get the real values."""

import base64
import json
import re
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from testkit.savers import database_of, opened_saver

from discreet.graph import build_graph
from discreet.providers.media import GivenSummarizer
from discreet.redaction import InMemoryTurnVault
from discreet.state.context import Context
from discreet.testing import InMemoryMemories, ScriptedChatModel

EMAIL = "ann.nguyen@example.com"
PHONE = "+84 912 345 678"
OTHER = "support.desk@example.org"
SAID = f"I'm Ann, write to {EMAIL} or call {PHONE}."


class BrokenVault:
    """Fails at every call."""

    async def ahold(self, turn, values, *, seconds=None):
        raise ConnectionError

    async def avalues(self, turn):
        raise ConnectionError

    async def adrop(self, turn):
        raise ConnectionError


@pytest.fixture(params=["memory", "postgres"])
async def stock(request):
    async with opened_saver(request.param, database_of(request.param, request)) as saver:
        yield saver


@pytest.fixture
def received():
    return []


@pytest.fixture
def send(received):
    @tool
    def send(to: str, copies: list[str]) -> str:
        """Send a message."""
        received.append((to, copies))
        return f"sent to {to}; answers come from {OTHER}. " + "x " * 5_000 + "THE END"

    return send


def script(answer=f"I wrote to {EMAIL}."):
    call = {"name": "send", "args": {"to": EMAIL, "copies": [PHONE]}, "id": "call_1"}
    return ScriptedChatModel(responses=[AIMessage(f"Writing to {EMAIL}.", tool_calls=[call]), AIMessage(answer)])


def written(values):
    """All that a state says, as one text."""
    parts = [m.model_dump_json() if hasattr(m, "model_dump_json") else repr(m) for m in values.pop("messages", [])]
    return json.dumps(values, default=repr) + "".join(parts)


async def play(graph, thread, said=SAID, **options):
    config = {"configurable": {"thread_id": thread}}
    message = said if isinstance(said, Command) else {"messages": [HumanMessage(said, id=str(uuid4()))]}
    return config, await graph.ainvoke(message, config, context=Context(user_id="ann"), **options)


async def test_at_every_step_after_save_input_the_latest_state_has_placeholders(stock, send, received):
    model = script()
    graph = build_graph(chat_model=model, tools=[send], memories=InMemoryMemories(), vault=InMemoryTurnVault())
    compiled = graph.compile(checkpointer=stock, interrupt_after="*")
    config, _ = await play(compiled, "1")
    steps = []
    while (state := await compiled.aget_state(config)).next:
        text = written(dict(state.values))
        assert [raw for raw in (EMAIL, PHONE, OTHER) if raw in text] == [], steps
        steps.append(state.next)
        await compiled.ainvoke(None, config, context=Context(user_id="ann"))
    assert len(steps) == 6
    assert received == [(EMAIL, [PHONE])]
    assert model.prompts[0][-1].text == SAID
    assert model.prompts[1][-2].tool_calls[0]["args"] == {"to": EMAIL, "copies": [PHONE]}
    assert model.prompts[1][-1].text.endswith("THE END")
    assert OTHER in model.prompts[1][-1].text
    assert EMAIL not in written(dict(state.values))


async def test_a_whole_history_in_one_input_is_masked_too(stock):
    model = ScriptedChatModel(responses=[AIMessage("Yes.")])
    compiled = build_graph(chat_model=model).compile(checkpointer=stock)
    earlier = [HumanMessage(SAID), AIMessage(f"Noted: {EMAIL}"), HumanMessage("Is it noted?")]
    config = {"configurable": {"thread_id": "1"}}
    await compiled.ainvoke({"messages": earlier}, config)
    assert EMAIL not in written(dict((await compiled.aget_state(config)).values))
    assert [m.text for m in model.prompts[0][1:]] == [m.text for m in earlier]


async def test_a_value_said_again_can_be_told_from_another_one(send):
    answers = [AIMessage("Ok."), AIMessage("Ok.")]
    compiled = build_graph(chat_model=ScriptedChatModel(responses=answers)).compile(checkpointer=InMemorySaver())
    await play(compiled, "1", f"I am {EMAIL}")
    _, state = await play(compiled, "1", f"not {OTHER} but {EMAIL}")
    first, _, second, _ = (m.text for m in state["messages"])
    tag = first.removeprefix("I am ")
    assert second.endswith(f"but {tag}")
    assert second.count(tag) == 1


async def test_a_paused_tool_gets_the_real_arguments_when_it_goes_on(stock, received):
    @tool
    def send(to: str, copies: list[str]) -> str:
        """Send a message."""
        received.append((to, interrupt({"question": f"send it to {to}?"})))
        return "sent"

    compiled = build_graph(chat_model=script(), tools=[send]).compile(checkpointer=stock)
    config, _ = await play(compiled, "1")
    state = await compiled.aget_state(config)
    assert EMAIL not in written(dict(state.values))
    assert state.interrupts[0].value["question"].startswith("send it to <EMAIL:")
    await play(compiled, "1", Command(resume="yes"))
    assert received == [(EMAIL, "yes")]


async def test_send_it_there_works_in_the_next_turn(stock, send, received):
    def there(messages):
        (mail,) = re.findall(r"\S+@\S+\w", messages[1].text)
        return AIMessage("", tool_calls=[{"name": "send", "args": {"to": mail, "copies": []}, "id": "call_2"}])

    model = ScriptedChatModel(responses=[AIMessage("Noted."), there, AIMessage("Sent.")])
    compiled = build_graph(chat_model=model, tools=[send], vault=InMemoryTurnVault()).compile(checkpointer=stock)
    await play(compiled, "1", f"My address is {EMAIL}")
    config, _ = await play(compiled, "1", "Send it there.")
    assert received == [(EMAIL, [])]
    assert EMAIL not in written(dict((await compiled.aget_state(config)).values))


async def test_what_is_no_longer_known_is_not_sent_anywhere(stock, send, received):
    def there(messages):
        mail = messages[1].text.removeprefix("My address is ")
        calls = [("send", {"to": mail, "copies": []}), ("send", {"to": "all", "copies": ["<PHONE>"]}), ("look_up", {})]
        return AIMessage("", tool_calls=[{"name": n, "args": a, "id": f"c{i}"} for i, (n, a) in enumerate(calls)])

    @tool
    def look_up() -> str:
        """Look it up."""
        return "found"

    vault, answers = InMemoryTurnVault(), [AIMessage("Noted."), there, AIMessage("Where to?")]
    model = ScriptedChatModel(responses=answers)
    compiled = build_graph(chat_model=model, tools=[send, look_up], vault=vault).compile(checkpointer=stock)
    await play(compiled, "1", f"My address is {EMAIL}")
    vault.__init__()
    _, state = await play(compiled, "1", "Send it there.")
    results = [m for m in model.prompts[-1] if m.type == "tool"]
    assert [m.status for m in results] == ["error", "error", "success"]
    codes = [json.loads(m.text)["error"] for m in results[:2]]
    assert [error["code"] for error in codes] == ["unresolved_placeholder"] * 2
    assert "EMAIL" in codes[0]["message"]
    assert received == []
    assert state["messages"][-1].text == "Where to?"


async def test_a_vault_that_fails_costs_the_values_and_never_the_turn(send, received, caplog):
    model = script("Done.")
    compiled = build_graph(chat_model=model, tools=[send], vault=BrokenVault()).compile(checkpointer=InMemorySaver())
    _, state = await play(compiled, "1")
    assert state["messages"][-1].text == "Done."
    assert EMAIL not in model.prompts[0][-1].text
    assert "turn_vault_failed" in caplog.text
    assert EMAIL not in caplog.text


async def test_after_the_turn_the_vault_holds_what_the_conversation_shows_and_no_message():
    vault = InMemoryTurnVault()
    compiled = build_graph(
        chat_model=ScriptedChatModel(responses=[AIMessage(f"It is {EMAIL}.")]), vault=vault, mask=True
    ).compile()
    await play(compiled, "1")
    (turn,) = vault._turns.values()
    assert set(turn.values.values()) == {EMAIL, PHONE}


def test_without_an_event_loop_it_is_the_same(send, received):
    model = script()
    compiled = build_graph(chat_model=model, tools=[send], memories=InMemoryMemories()).compile(
        checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "1"}}
    compiled.invoke({"messages": [("user", SAID)]}, config, context=Context(user_id="ann"))
    assert received == [(EMAIL, [PHONE])]
    assert EMAIL not in written(dict(compiled.get_state(config).values))


VOICE = {
    "type": "audio",
    "base64": base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40)).decode(),
    "mime_type": "audio/wav",
    "transcript": f"Hello. I went out. I met Bob. Then planted words came. Write to {EMAIL}.",
}


async def test_the_model_hears_the_transcript_and_the_state_keeps_a_summary(stock):
    model = ScriptedChatModel(responses=[AIMessage("Heard.")])
    compiled = build_graph(chat_model=model, summarizer=GivenSummarizer()).compile(
        checkpointer=stock, interrupt_after="*"
    )
    config = {"configurable": {"thread_id": "1"}}
    await compiled.ainvoke({"messages": [HumanMessage([VOICE], id="m1")]}, config)
    while (state := await compiled.aget_state(config)).next:
        text = written(dict(state.values))
        assert not any(raw in text for raw in (EMAIL, "planted words", VOICE["base64"][:40]))
        await compiled.ainvoke(None, config)
    assert model.prompts[0][-1].text == f"[voice transcript] {VOICE['transcript']}"
    assert (await compiled.aget_state(config)).values["messages"][-1].text == "Heard."


async def test_a_model_that_sees_gets_the_image_and_the_state_its_caption():
    pixels = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
    image = {"type": "image", "base64": pixels, "mime_type": "image/png", "caption": "A kettle.", "sha256": None}
    model = ScriptedChatModel(responses=[AIMessage("A kettle.")], profile={"image_inputs": True})
    compiled = build_graph(chat_model=model).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    await compiled.ainvoke(
        {"messages": [HumanMessage([{"type": "text", "text": "What is it?"}, image], id="m1")]}, config
    )
    assert {"type": "image", "base64": pixels, "mime_type": "image/png"} in model.prompts[0][-1].content
    kept = (await compiled.aget_state(config)).values["messages"]
    assert [m.content for m in kept] == ["What is it?\n[image] A kettle.", "A kettle."]
