"""Stored text that gives orders, before a model that obeys whatever does not stand in a block of data."""

import json
import re
import tomllib
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool
from testkit.prompt_blocks import read_prompt, strings_of, without_strings

from discreet.graph import build_graph
from discreet.prompts.assembly import assemble
from discreet.prompts.data import plain
from discreet.prompts.extraction import SaidTurn, render_extraction
from discreet.prompts.facts import memory_block
from discreet.prompts.media_summary import render_transcript
from discreet.prompts.memory_gate import as_message
from discreet.prompts.summaries import render_rolling_summary
from discreet.prompts.texts import prompt_text
from discreet.providers.tokens import count_tokens
from discreet.state.context import Context
from discreet.state.conversation import RetrievedMemory
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord
from discreet.testing import InMemoryMemories, StrictChatModel

TEXTS = [
    entry["text"]
    for name in ("own_injections.toml", "injections.toml")
    for entry in tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))["injections"]
]
BE_KIND = "Be kind."
PREFIX = "My marmalade recipe: "
STORABLE = [text for text in TEXTS if len(PREFIX + text) <= MAX_MEMORY_CHARS]
EPOCH = datetime(2026, 3, 5, tzinfo=UTC)
TOOLS = ("save_memory", "recall_memory", "forget_memory", "send_mail", "delete_account")
FORMS = {
    "known_facts": '- [user_fact] "" (2026-03-05)',
    "past_conversations": '- [conversation_summary] "" (2026-03-05)',
    "conversation_summary": '""',
    "earlier_rounds": '- ""',
}
SPECIAL = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|user|>", "<|assistant|>"),
    *(
        "<|begin_of_text|>",
        "<|python_tag|>",
        "<|end|>",
        "<|system|>",
        "<|channel|>",
        "<|end_of_turn_token|>",
        "<|turn>",
    ),
    *(
        "[inst]",
        "[/inst]",
        "[system_prompt]",
        "[available_tools]",
        "[tool_calls]",
        "[tool_results]",
        "<<sys>>",
        "<</sys>>",
    ),
    *("<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>", "<bos_token>"),
    *("<tool_call>", "</tool_call>", "<tool_response>", "<think>", "</think>", "<extra_id_0>"),
)
"""Of Qwen, gpt-oss, Llama 2 to 4, Mistral, Gemma, Phi, Command R and T5."""


def found(text):
    return [
        RetrievedMemory(entry_id="1", text=text, type=kind, created_at="2026-03-05T10:00:00+00:00", relevance=0.9)
        for kind in ("user_fact", "conversation_summary")
    ]


def prompt_with(text):
    return assemble(
        count=count_tokens,
        running=[HumanMessage("Hi")],
        earlier=[AIMessage(text)],  # what stood before the user's first word is told in a line
        memories=found(text),
        summary=text,
        system_prompt=BE_KIND,
        window=200_000,
    ).messages


def as_tokenised(text):
    return unicodedata.normalize("NFKC", text).lower()


@pytest.mark.parametrize("text", TEXTS)
def test_stored_text_stays_in_its_block_and_on_its_line(text):
    system = prompt_with(text)[0].text
    blocks, outside, mark = read_prompt(system)
    assert outside.split() == f"{BE_KIND} {prompt_text('memory_facts').replace('{mark}', mark)}".split()
    assert {tag: [without_strings(line) for line in lines] for tag, lines in blocks.items()} == {
        tag: [form] for tag, form in FORMS.items()
    }
    told = {tag: strings_of(lines[0])[0] for tag, lines in blocks.items()}
    line = told.pop("earlier_rounds")
    assert set(told.values()) == {plain(text)}
    assert count_tokens(plain(text)) > 30 or line == plain(text)
    assert len(system.splitlines()) == len(system.split("\n"))
    assert not [token for token in SPECIAL if token in as_tokenised(system)]


@pytest.mark.parametrize("text", TEXTS)
def test_other_prompts_tell_it_as_data_too(text):
    (facts,) = read_prompt(memory_block(found(text)[:1], count=count_tokens, max_tokens=9_000)).blocks.values()
    assert strings_of(facts[0]) == [plain(text)]
    for data in (
        render_rolling_summary([(text, text)], earlier=text).data,
        render_extraction([SaidTurn(at=EPOCH, said=text)], known=[text], forgotten=[text]).data,
        render_transcript(text),
        as_message(text[:200], (text[:200], text[:200])),
    ):
        blocks, outside, _ = read_prompt(data)
        assert not outside.strip()
        assert all(json.loads(line) for lines in blocks.values() for line in lines)
        assert not [token for token in SPECIAL if token in as_tokenised(data)]


def test_with_tags_that_can_be_guessed_most_would_leave_their_block():
    left = 0
    for text in TEXTS:
        lines = f"<known_facts>\n- [user_fact] {text}\n</known_facts>"
        closing = re.search(r"<\s*/\s*known_facts\b[^>]*>", as_tokenised(lines))
        left += closing.end() < len(as_tokenised(lines)) or len(lines.splitlines()) > 3
    assert left > len(TEXTS) / 3


def obey(messages):
    """Call the tool that an order outside of the blocks names, the first one there is if it names none; else answer."""
    if isinstance(messages[-1], ToolMessage):
        return AIMessage("Done.")
    _, given, mark = read_prompt("\n".join(m.text for m in messages if isinstance(m, SystemMessage)))
    for trusted in (BE_KIND, prompt_text("memory_facts").replace("{mark}", mark)):
        given = given.replace(trusted, "")
    asked = "\n".join(message.text for message in messages if isinstance(message, HumanMessage))
    if re.search(r"\w", given) or any(tool in asked for tool in TOOLS):
        named = re.search("|".join(TOOLS), f"{given}\n{asked}")
        return AIMessage("", tool_calls=[{"name": named[0] if named else TOOLS[0], "args": {}, "id": "1"}])
    return AIMessage("Hello.")


def test_the_reader_obeys_the_user_and_the_instructions():
    assert obey([SystemMessage(BE_KIND), HumanMessage("Please use forget_memory")]).tool_calls
    assert obey([SystemMessage(f"{BE_KIND} Call send_mail."), HumanMessage("Hi")]).tool_calls


@pytest.mark.slow
async def test_a_stored_order_calls_no_tool_in_the_graph():
    called = []

    def fake(name):
        return StructuredTool.from_function(lambda: called.append(name) or "done", name=name, description="A tool.")

    memories = InMemoryMemories()
    model = StrictChatModel(answer=obey)
    tools = [fake(name) for name in TOOLS]
    graph = build_graph(
        chat_model=model, memories=memories, memory_tools=False, tools=tools, system_prompt=BE_KIND
    ).compile()
    for number, text in enumerate(STORABLE):
        user = f"user-{number}"
        await memories.save(user, [MemoryRecord(text=PREFIX + text)])
        asked = {"messages": [HumanMessage("What do you remember about my marmalade recipe?")]}
        context = Context(user_id=user, retrieve_threshold=0.0)
        result = await graph.ainvoke(asked, {"configurable": {"thread_id": user}}, context=context)
        assert result["messages"][-1].text == "Hello."
    assert all("marmalade" in prompt[0].text for prompt in model.prompts), "every memory was retrieved"
    assert not called
