"""Agents of `create_agent`: tools with artifacts, parallel calls, a sub-agent as a tool, media, reasoning."""

from __future__ import annotations

import base64
import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.pregel import Pregel

from testkit.planting.manifest import Book
from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.turns import TurnModel, next_result, turn

LONG_RESULT = 20_000
"""Characters of a tool's result that is a whole page."""


@tool(response_format="content_and_artifact")
def find_customer(customer: str, note: str = "") -> tuple[Any, Any]:
    """Look somebody up."""
    content, artifact = next_result(("Nobody found.", None))
    return content, artifact


@tool
def ask_expert(question: str) -> str:
    """Ask another agent, which keeps nothing itself."""
    answer = _expert().invoke({"messages": [HumanMessage(question)]})
    return str(answer["messages"][-1].text)


def _expert() -> Pregel[Any, Any, Any, Any]:
    return create_agent(TurnModel(), name="expert")


def build() -> Pregel[Any, Any, Any, Any]:
    """Return the agent."""
    return create_agent(TurnModel(), [find_customer, ask_expert], system_prompt="Help the customer.")


def call(name: str, number: int, **args: Any) -> dict[str, Any]:
    """Return a tool call."""
    return {"name": name, "args": args, "id": f"call_{number}", "type": "tool_call"}


async def support(session: Session) -> None:
    """Ask, let tools be called side by side, and go on for a few turns."""
    book = session.book
    await _first_turn(session)
    for number in range(book.random.randrange(4)):
        asked = HumanMessage(book.said("human_message"), additional_kwargs={"sender": book.plain("message_kwargs")})
        if book.random.random() < 0.5:
            with turn([AIMessage(book.said("ai_message", "blobs", "writes"))]):
                await session.run({"messages": [asked]})
            continue
        calls = [call("find_customer", number, customer=book.plain("tool_args", "blobs", "writes"))]
        answers = [AIMessage("", tool_calls=calls), AIMessage(book.said("ai_message", "blobs", "writes"))]
        long = book.random.random() < 0.2
        with turn(answers, [(_long_result(book) if long else _json_result(book), None)]):
            await session.run({"messages": [asked]})


async def _first_turn(session: Session) -> None:
    book = session.book
    places = ("blobs", "writes")
    thought = {"type": "reasoning", "reasoning": book.said("reasoning", *places)}
    calls = [
        call("find_customer", 100, customer=book.plain("tool_args", *places), note=book.said("tool_args", *places)),
        call("find_customer", 101, customer=book.plain("tool_args", *places)),
    ]
    headers = {"x-request-id": "req_1", "x-user": book.plain("response_metadata", *places, types=("EMAIL",))}
    headers["authorization"] = "Bearer " + book.plain("response_metadata", *places, types=("SECRET",))
    answers = [
        AIMessage(
            [thought, {"type": "text", "text": book.said("ai_message", *places)}],
            tool_calls=calls,
            response_metadata={"headers": headers, "model_name": "model-1"},
            usage_metadata={"input_tokens": 12, "output_tokens": 34, "total_tokens": 46},
        ),
        AIMessage(book.said("ai_message", *places)),
    ]
    results = [
        (book.said("tool_result", *places), {"rows": [{"contact": book.plain("tool_artifact", *places)}]}),
        (_json_result(book), [book.said("tool_artifact", *places)]),
    ]
    given = [SystemMessage(book.said("system_message")), HumanMessage(book.said("human_message"))]
    with turn(answers, results):
        await session.run({"messages": given})


def _json_result(book: Book) -> str:
    inner = json.dumps({"reply_to": book.plain("nested_json", "blobs", "writes", types=("EMAIL", "CARD", "IBAN"))})
    return json.dumps({"status": 200, "body": inner})


def _long_result(book: Book) -> str:
    parts = [book.said("long_tool_result", "blobs", "writes") for _ in range(4)]
    page = "The page goes on about opening hours and parking. " * (LONG_RESULT // 200)
    return page.join([*parts, ""])


async def sub_agent(session: Session) -> None:
    """Let a tool ask another agent, whose own messages are not kept."""
    book = session.book
    question = call("ask_expert", 1, question=book.said("tool_args", "blobs", "writes"))
    answers = [
        AIMessage("", tool_calls=[question]),
        AIMessage(book.said("tool_result", "blobs", "writes")),
        AIMessage(book.said("ai_message", "blobs", "writes")),
    ]
    with turn(answers):
        await session.run({"messages": [HumanMessage(book.said("human_message"))]})


async def media(session: Session) -> None:
    """Send a picture, a sound and a text file; the file has values in its base64."""
    book = session.book
    data = [base64.b64encode(book.random.randbytes(3_000)).decode() for _ in range(2)]
    address = book.random.choice(("ann", "bob")) + f".{book.chance().word()}@files.example.com"
    file = base64.b64encode(f"Customer file.\nThe address is {address} and nothing else.\n".encode())
    book.keep(address, "EMAIL", "base64_file", stored=file)
    blocks: list[str | dict[str, Any]] = [
        {"type": "text", "text": book.said("human_message")},
        {"type": "image", "base64": data[0], "mime_type": "image/png"},
        {"type": "audio", "base64": data[1], "mime_type": "audio/wav"},
        {
            "type": "file",
            "base64": file.decode(),
            "mime_type": "text/plain",
            "filename": book.plain("file_name", types=("EMAIL",)) + ".txt",
        },
        {"type": "image", "url": book.plain("image_url", types=("URL",))},
    ]
    with turn([AIMessage(book.said("ai_message", "blobs", "writes"))]):
        await session.run({"messages": [HumanMessage(blocks)]})


SUPPORT = Scenario(build, support)
SUB_AGENT = Scenario(build, sub_agent)
MEDIA = Scenario(build, media)
ENCRYPTED = Scenario(build, support, serializer="encrypting")
