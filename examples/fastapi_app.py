"""A chat server of one's own for several users: FastAPI, tokens, a graph with memory, and the REST API beside it.

`uvicorn fastapi_app:app --app-dir examples --workers 2 --no-access-log` serves it (the extra `serve`) and logs one line
a request, without what users wrote in a path or a query. Callers are known as with `discreet serve`: DISCREET_JWT_SECRET,
DISCREET_JWKS_URL or DISCREET_API_KEYS. With more processes than one set DISCREET_TURN_VAULT=postgres and DISCREET_ENCRYPTION_KEYS
too, so that the next turn finds its values wherever it runs. Turns of one conversation wait for each other, or are answered 409.
`DISCREET_JWT_SECRET=$(openssl rand -hex 32) python examples/fastapi_app.py` talks to it as two users, and ends.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any
from uuid import NAMESPACE_URL, uuid5

import httpx
from fastapi import Depends, FastAPI, Request
from fastapi.responses import StreamingResponse
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, Field

from discreet.access import Caller
from discreet.access.development import token_for
from discreet.api.app import include, make_app
from discreet.api.process_app import prepare_process, services_of
from discreet.api.request_log import log_requests
from discreet.api.routing import make_router
from discreet.checkpoint import RedactingSaver
from discreet.errors import DiscreetError
from discreet.graph import TurnRunner, build_graph
from discreet.metrics_server import metrics_port
from discreet.redaction.logged.formats import log_to_stderr
from discreet.settings import load_settings
from discreet.state.context import Context
from discreet.storage.shared import process_storage

EVENTS = "text/event-stream"

log_to_stderr(load_settings().log_format)
services = services_of(prepare_process())
router = make_router(services, tags=["chat"])  # its routes know who calls, cap bodies, and answer errors in one form
Known = Annotated[Caller, Depends(router.caller)]


class Said(BaseModel):
    """What a user says."""

    conversation: Annotated[str, Field(min_length=1, max_length=100)]
    text: Annotated[str, Field(min_length=1, max_length=10_000)]


class Answer(BaseModel):
    """What the assistant says to it."""

    text: str


def thread_of(caller: Caller, conversation: str) -> RunnableConfig:
    """Return the thread that the caller means: nobody can name somebody else's, whatever they call it."""
    return {"configurable": {"thread_id": str(uuid5(NAMESPACE_URL, f"{caller.identity}/{conversation}"))}}


@router.post("/chat", response_model=Answer)
async def chat(said: Said, request: Request, caller: Known) -> Answer | StreamingResponse:
    """Answer, as JSON or as a stream of events as the client accepts it, with the real values of what its owner said."""
    runner: TurnRunner = request.app.state.runner
    thread, context = thread_of(caller, said.conversation), Context(user_id=caller.identity)
    given = {"messages": [("user", said.text)]}
    if EVENTS in request.headers.get("accept", ""):
        return StreamingResponse(_events(runner, given, thread, context), media_type=EVENTS)
    state = await runner.ainvoke(given, thread, context=context)
    return Answer(text=str(state["messages"][-1].text))


async def _events(
    runner: TurnRunner, given: dict[str, Any], thread: RunnableConfig, context: Context
) -> AsyncIterator[str]:
    try:
        async for piece, _ in runner.astream(given, thread, context=context, stream_mode="messages"):
            if piece.type.startswith("AIMessage") and piece.text:
                yield f"data: {json.dumps({'text': str(piece.text)})}\n\n"
        yield "event: end\ndata: {}\n\n"
    except DiscreetError as error:  # the answer has begun: its status tells nothing any more
        yield f"event: error\ndata: {json.dumps({'code': error.code})}\n\n"


@router.get("/chat/{conversation}")
async def history(conversation: str, request: Request, caller: Known) -> list[Answer]:
    """Return what was said in one of the caller's conversations."""
    state = await request.app.state.runner.aget_state(thread_of(caller, conversation))
    return [Answer(text=str(message.text)) for message in state.values.get("messages", [])]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Hold the storage open, and make the graph over it; show the metrics if there is a port for them (docs/monitoring.md)."""
    async with process_storage.lease() as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        graph = build_graph(storage).compile(checkpointer=saver)
        app.state.runner = TurnRunner(graph, short_term=storage.short_term, one_at_a_time=True)
        with metrics_port(load_settings()):
            yield
        await app.state.runner.aclose()


app = make_app(services, lifespan=lifespan, documented=True)
include(app, [router])
log_requests(app)


@app.get("/ok", include_in_schema=False)
async def ok() -> dict[str, bool]:
    """Tell anybody that this process takes requests."""
    return {"ok": True}


async def main() -> str:
    """Tell it something as one user, and ask for it as that user and as another one, in conversations of the same name."""
    answers = []
    transport = httpx.ASGITransport(app)
    async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for user, text in (
            ("ann", "I keep two African Grey parrots."),
            ("bob", "Which birds do I keep?"),
            ("ann", "Which birds do I keep?"),
        ):
            headers = {"authorization": f"Bearer {token_for(load_settings(), user)}"}
            said = {"conversation": "pets", "text": text}
            answers.append((await client.post("/chat", json=said, headers=headers)).raise_for_status().json()["text"])
            print(f"{user}: {text}\n  {answers[-1]}")
    return answers[-1]


if __name__ == "__main__":
    asyncio.run(main())
