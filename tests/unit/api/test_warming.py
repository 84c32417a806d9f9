"""What is loaded beside the start of a server."""

import asyncio
import logging

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from discreet.api import warming
from discreet.api.warming import FirstAnswer, warm, warm_later
from discreet.redaction import Redactor


@pytest.mark.slow
def test_what_the_first_turn_needs_is_loaded(caplog):
    caplog.set_level(logging.INFO)
    warm(Redactor())
    assert "server_warmed" in caplog.text


def test_a_failure_is_told_and_stops_nothing(caplog):
    class Broken:
        def redact(self, text):
            raise OSError("of ann@example.com")

    warm(Broken())
    assert "server_not_warmed cause=OSError" in caplog.text
    assert "ann" not in caplog.text


async def test_nothing_is_loaded_before_the_first_answer(caplog):
    caplog.set_level(logging.INFO)
    answered = asyncio.Event()

    async def ok(_request):
        await asyncio.sleep(0)
        assert not answered.is_set()
        return PlainTextResponse("ok")

    app = FirstAnswer(Starlette(routes=[Route("/ok", ok)]), answered=answered)
    later = asyncio.create_task(warm_later(answered, Redactor()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://server.test") as client:
        assert (await client.get("/ok")).text == "ok"
    assert "server_warmed" not in caplog.text
    await later
    assert "server_warmed" in caplog.text


async def test_without_a_request_it_is_loaded_after_a_while(caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(warming, "LONGEST_SECONDS", 0.01)
    await warm_later(asyncio.Event(), Redactor())
    assert "server_warmed" in caplog.text
