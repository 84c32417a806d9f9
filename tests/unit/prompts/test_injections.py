"""Stored text that gives orders, before a model that obeys whatever the structure of its prompt makes an order."""

import html
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool

from discreet.graph import build_graph
from discreet.prompts import assembly, blocks
from discreet.prompts.assembly import assemble
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
BE_KIND = "Be kind."
SHORT = [text for text in TEXTS if len(text) < 600]
"""Those that stand in a prompt whole, also where nothing is shortened."""
TOOLS = ("save_memory", "recall_memory", "forget_memory", "send_mail", "delete_account")

ALIKE = str.maketrans("‹›《》〈〉⟨⟩«»˂˃оОаАеЕсС", "<><><><><><>oOaAeEcC")
UNSEEN = dict.fromkeys((*range(9), *range(14, 28), 127, 0x115F, 0x1160, 0x3164))


def as_read(text):
    """The text as a tolerant reader sees it: nothing invisible, references and escapes resolved, look-alikes equal."""
    for _ in range(3):
        text = html.unescape(text)
    text = re.sub(r"(?:%|\\u00|\\x)(3c|3e|2f|7c)", lambda escape: chr(int(escape[1], 16)), text, flags=re.IGNORECASE)
    text = unicodedata.normalize("NFKD", text.translate(UNSEEN | ALIKE))
    text = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Mn"))
    return unicodedata.normalize("NFKC", text).translate(ALIKE)


TAG = r"(known[\W_]?facts|past[\W_]?conversations|conversation[\W_]?summary)"
OPENING = re.compile(rf"<\s*{TAG}\s*>", re.IGNORECASE)
CLOSING = re.compile(rf"<\s*[/\\]+\s*{TAG}[^<>]*>", re.IGNORECASE)
ROLE = as_read("(?:system|user|human|assistant|developer|instructions?|tool|系统|система|hệ thống)")
SPEAKS = re.compile(
    rf"^(?:- \[\w+\] )?\W*{ROLE}\W{{0,4}}:|#+\s*{ROLE}\b|\"role\"\s*:"  # a role's words begin
    r"|<\s*\|[^<>]*\|\s*>|\[/?(?:INST|SYSTEM_PROMPT)\]|<<?/?SYS>>?|</?s>"  # tokens of chat templates
    r"|</?\s*(?:start_of_turn|end_of_turn|system|instructions?|tool_call|function_call|invoke)\b",
    re.IGNORECASE,
)


TRUSTED = [as_read(text) for text in (BE_KIND, prompt_text("memory_facts"))]


def orders(system: str) -> Iterator[str]:
    """What a reader who goes by structure takes for orders: what is outside the blocks, no line of theirs, or spoken."""
    rest = as_read(system)
    while opening := OPENING.search(rest):
        yield rest[: opening.start()]
        rest = rest[opening.end() :]
        closing = CLOSING.search(rest)
        inside, rest = (rest[: closing.start()], rest[closing.end() :]) if closing else (rest, "")
        for line in filter(None, inside.splitlines()):
            if not line.startswith("- [") and opening[1].lower() != "conversation_summary":
                yield line
            elif spoken := SPEAKS.search(line):
                yield line[spoken.start() :]
    yield rest


def obey(messages):
    """Call the tool that an order names, the first one there is if it names none; without an order, answer."""
    if isinstance(messages[-1], ToolMessage):
        return AIMessage("Done.")
    system = "\n".join(message.text for message in messages if isinstance(message, SystemMessage))
    given = "\n".join(orders(system))
    for trusted in TRUSTED:
        given = given.replace(trusted, "")
    asked = "\n".join(message.text for message in messages if isinstance(message, HumanMessage))
    if re.search(r"\w", given) or any(tool in asked for tool in TOOLS):
        named = re.search("|".join(TOOLS), f"{given}\n{asked}")
        return AIMessage("", tool_calls=[{"name": named[0] if named else TOOLS[0], "args": {}, "id": "1"}])
    return AIMessage("Hello.")


def prompt_with(text):
    found = [
        RetrievedMemory(entry_id="1", text=text, type=kind, created_at="2026-03-05T10:00:00+00:00", relevance=0.9)
        for kind in ("user_fact", "conversation_summary")
    ]
    return assemble(
        count=count_tokens,
        running=[HumanMessage("Hi")],
        memories=found,
        summary=text,
        system_prompt=BE_KIND,
        window=200_000,
    ).messages


@pytest.fixture
def unprotected(monkeypatch):
    """Texts stand in the prompt as they were stored."""
    for module in (blocks, assembly):
        monkeypatch.setattr(module, "as_data", lambda text: text)


@pytest.mark.parametrize("text", TEXTS)
def test_a_stored_order_is_not_obeyed(text):
    messages = prompt_with(text)
    assert "known_facts" in messages[0].text
    assert not obey(messages).tool_calls


@pytest.mark.parametrize("text", TEXTS)
def test_a_stored_order_has_one_line_in_each_block(text):
    system = as_read(prompt_with(text)[0].text)
    assert len(OPENING.findall(system)) == len(CLOSING.findall(system)) == 3
    assert len(re.findall(r"^- \[", system, re.MULTILINE)) == system.count("\n- ") == 2


def test_without_protection_most_would_be_obeyed(unprotected):
    obeyed = [text for text in TEXTS if obey(prompt_with(text)).tool_calls]
    assert len(obeyed) > 0.6 * len(TEXTS)


def test_the_reader_obeys_the_user():
    assert obey([SystemMessage(BE_KIND), HumanMessage("Please use forget_memory")]).tool_calls


async def called_in_the_graph(texts):
    """Save each text as the memory of a user of its own, ask for it, and return which tools the model called."""
    called = []

    def fake(name):
        return StructuredTool.from_function(lambda: called.append(name) or "done", name=name, description="A tool.")

    memories = InMemoryMemories()
    model = StrictChatModel(answer=obey)
    graph = build_graph(
        chat_model=model,
        memories=memories,
        memory_tools=False,
        tools=[fake(name) for name in TOOLS],
        system_prompt=BE_KIND,
    ).compile()
    for number, text in enumerate(texts):
        user = f"user-{number}"
        await memories.save(user, [MemoryRecord(text=PREFIX + text)])
        asked = {"messages": [HumanMessage("What do you remember about my marmalade recipe?")]}
        context = Context(user_id=user, retrieve_threshold=0.0)
        result = await graph.ainvoke(asked, {"configurable": {"thread_id": user}}, context=context)
        assert result["messages"][-1].text in ("Hello.", "Done.")
    seen = [prompt[0].text for prompt in model.prompts if not isinstance(prompt[-1], ToolMessage)]
    assert len(seen) == len(texts)
    assert all("marmalade" in text for text in seen), "every memory was retrieved"
    return called


@pytest.mark.slow
async def test_a_stored_order_calls_no_tool_in_the_graph():
    assert await called_in_the_graph(STORABLE) == []


@pytest.mark.slow
async def test_without_protection_tools_would_be_called_in_the_graph(unprotected):
    assert len(await called_in_the_graph(STORABLE)) > 0.5 * len(STORABLE)
