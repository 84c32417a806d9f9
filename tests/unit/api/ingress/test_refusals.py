"""Who is refused reads why, also where the body had not been read."""

import asyncio
import contextlib
import socket

import httpx
import pytest
import uvicorn

MANY = b"x" * 20_000_000
"""More than the buffers of a connection hold."""
ANN = {"authorization": "Bearer ann"}


@pytest.fixture
async def url(ingress):
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(ingress, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve([listening]))
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    await serving


async def chunks():
    for start in range(0, len(MANY), 100_000):
        yield MANY[start : start + 100_000]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        (ANN, lambda: MANY, 413),
        (ANN, chunks, 413),
        ({**ANN, "content-encoding": "gzip"}, chunks, 415),
        ({}, lambda: MANY, 401),
    ],
    ids=["announced", "in chunks", "compressed", "from nobody"],
)
async def test_who_sends_a_large_body_reads_why_it_is_refused(url, headers, content, status):
    async with httpx.AsyncClient(base_url=url) as client:
        reply = await client.post("/threads/search", content=content(), headers=headers)
    assert reply.status_code == status


async def test_who_waits_to_be_asked_for_the_body_is_answered_without_it(url):
    reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
    lines = ["POST /threads/search HTTP/1.1", "host: here", "content-length: 20000000", "expect: 100-continue", "", ""]
    writer.write("\r\n".join(lines).encode())
    answer = await asyncio.wait_for(reader.read(), 10)  # until the server closes
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 401 ")


async def test_no_more_than_so_much_of_a_refused_body_is_read(ingress, monkeypatch):
    monkeypatch.setattr("discreet.api.ingress.refusals.MOST_DISCARDED", 1000)
    asked = 0
    sent = []

    async def receive():
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/threads", "query_string": b"", "headers": []}
    await ingress(scope, receive, send)
    assert asked == 10
    assert sent[0]["status"] == 401
    assert not sent[-1]["more_body"]
