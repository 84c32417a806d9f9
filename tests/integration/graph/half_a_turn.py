"""One process of a service, for one step of a turn: reads what it is handed on standard input, prints what it hands on."""

import asyncio
import json
import secrets
import sys

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.redaction.configured import default_redactor
from discreet.state.context import Context
from discreet.state.request_ref import REQUEST_REF, part_key
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel, StubEmbeddings

THREAD = {"configurable": {"thread_id": "1"}}
received = []


@tool
def send(to: str) -> str:
    """Send a message, if a person approves."""
    received.append([to, interrupt("send it?")])
    return "sent"


async def take(storage, said):
    """Play the API: keep the input of a request in the vault, and hand on its redacted body."""
    ref = secrets.token_urlsafe(16)
    masked, values = default_redactor().for_thread("1").mask(said)
    await storage.vault.ahold(ref, {part_key("input"): json.dumps({"text": said}), **values})
    return {"input": {"text": masked}, "config": {"configurable": {REQUEST_REF: ref}}}


async def work(storage, body):
    """Play the worker: get the input back."""
    found = await storage.vault.avalues(body["config"]["configurable"][REQUEST_REF])
    given = found.get(part_key("input"))
    return {"input": json.loads(given) if given else body["input"], "values": sorted(found.values())}


async def begin(storage, said):
    """Run a turn up to the question."""
    call = {"name": "send", "args": {"to": said.split()[-1]}, "id": "call_1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call])])
    result = await run(storage, model, {"messages": [HumanMessage(said, id="m1")]})
    return {"asked": [each.value for each in result["__interrupt__"]], "received": [to for to, _ in received]}


async def resume(storage, answer):
    """Run the rest of the turn."""
    model = ScriptedChatModel(responses=[AIMessage("Done.")])
    result = await run(storage, model, Command(resume=answer))
    heard = [message.text for message in model.prompts[0] if message.type == "human"]
    return {"received": received, "heard": heard, "said": result["messages"][-1].text}


async def run(storage, model, given):
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    graph = build_graph(chat_model=model, tools=[send], vault=storage.vault).compile(checkpointer=saver)
    return await graph.ainvoke(given, THREAD, context=Context(user_id="ann"))


async def main(step):
    handed = json.load(sys.stdin)
    async with open_storage(embeddings=StubEmbeddings(dims=16)) as storage:
        print(json.dumps(await step(storage, handed)))


asyncio.run(main({"take": take, "work": work, "begin": begin, "resume": resume}[sys.argv[1]]))
