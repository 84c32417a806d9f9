"""The playground over a real database: what its visitor sees, what is stored, and who may come in."""

from __future__ import annotations

import asyncio
import html
import json
import re

import httpx
import pytest
from fastapi import FastAPI
from langgraph.graph import END, START, StateGraph

from discreet.api.app import include
from discreet.api.playground import Playground, make_playground_router, playing
from discreet.api.process_app import make_process_app, prepare_process
from discreet.errors import StorageUnavailableError
from discreet.settings import Settings
from discreet.state.conversation import ConversationState
from discreet.storage import open_storage
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.readable_rows import readable_tables
from discreet.testing import StubEmbeddings

PAGE = "/memory/playground"
HERE = "http://127.0.0.1:8000"


class Browser:
    """One browser: it has the cookie, and sends forms as a browser does."""

    def __init__(self, app, address="127.0.0.1"):
        transport = httpx.ASGITransport(app, client=(address, 50_000))
        self.client = httpx.AsyncClient(transport=transport, base_url=HERE, follow_redirects=True)
        self.page = ""

    async def open(self, **headers):
        answer = await self.client.get(PAGE, headers=headers)
        self.page = answer.text
        return answer

    async def post(self, path="/turn", *, origin=HERE, **fields):
        token = re.search('name="form_token" value="([^"]+)"', self.page)
        fields = {"form_token": token[1] if token else "", **fields}
        headers = {} if origin is None else {"Origin": origin}
        answer = await self.client.post(PAGE + path, data=fields, headers=headers)
        self.page = answer.text
        return answer

    async def say(self, text, **fields):
        """Send a message, and wait for the answer."""
        assert (await self.post(text=text, **fields)).status_code == 200
        await self.follow()
        await self.open()

    async def follow(self):
        events = (await self.client.get(f"{PAGE}/turn")).text
        return [re.fullmatch("event: (.*)\ndata: (.*)", each).groups() for each in events.strip().split("\n\n")]

    def part(self, name):
        """Return the words of a section of the page."""
        section = re.search(rf'<section class="{name}".*?</section>', self.page, re.DOTALL)[0]
        return html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", section)))


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage


@pytest.fixture
async def make_browser(storage, make_services):
    playground = Playground(lambda: storage, Settings(_env_file=None, chat_model="offline", max_input_chars=500))
    app = FastAPI()
    include(app, [make_playground_router(make_services(storage), playground)])
    browsers = []

    def make(address="127.0.0.1"):
        browsers.append(Browser(app, address))
        return browsers[-1]

    yield make
    for browser in browsers:
        await browser.client.aclose()


@pytest.fixture
async def browser(make_browser):
    browser = make_browser()
    assert (await browser.open()).status_code == 200
    return browser


async def everything(storage):
    async with await connect(storage.access.owner) as connection:
        return repr([table async for table in readable_tables(connection, max_rows=1_000, max_chars=100_000)])


@pytest.mark.slow
async def test_who_speaks_sees_the_value_and_the_database_its_placeholder(browser, storage):
    await browser.say("I keep two parrots, and my e-mail is ann@example.com.")
    assert "my e-mail is ann@example.com . On disk I keep two parrots, and my e-mail is <EMAIL> ." in browser.part(
        "talk"
    )
    assert "ann@example.com" not in browser.part("stored")
    assert re.search(
        r"conversation_log 1 new input_text I keep two parrots, and my e-mail is <EMAIL> \.", browser.part("stored")
    )
    assert re.search(r"content I keep two parrots, and my e-mail is <EMAIL:\w{8}> \.", browser.part("stored"))
    assert "You I keep two parrots, and my e-mail is ann@example.com" in browser.part("unstored")
    assert "ann@example.com" not in await everything(storage)


@pytest.mark.slow
async def test_the_gate_and_what_was_found_are_told_with_their_reasons(browser):
    await browser.say("I keep two African Grey parrots.")
    await browser.say("Which parrots do I keep?", fresh="1")
    told = browser.part("unstored")
    assert "Long-term memory is searched , decided by own_facts" in told
    assert "I keep two African Grey parrots" in told
    assert "It shares the words “parrots”" in told
    await browser.say("Thanks!")
    assert "Long-term memory is not needed , decided by thanks" in browser.part("unstored")


@pytest.mark.slow
async def test_what_a_tool_returns_is_shown_and_not_stored(browser, storage):
    await browser.say("/lookup_order order_id=A17")
    place = re.search(r"WAREHOUSE-\w+", browser.part("unstored"))[0]
    assert "lookup_order not stored Called with" in browser.part("unstored")
    assert place not in browser.part("stored")
    assert place not in await everything(storage)


@pytest.mark.slow
async def test_what_came_since_the_last_message_is_new(browser):
    await browser.say("I keep two parrots.")
    await browser.say("Thanks!")
    rows = re.search(r'id="table-conversation_log".*?</ol>', browser.page, re.DOTALL)[0]
    assert re.findall("<li(.*?)>", rows) == [' class="new"', ""]
    assert "memory 1 text" in browser.part("stored")


@pytest.mark.slow
async def test_a_turn_is_followed_to_its_end(browser):
    await browser.post(text="I keep two parrots.")
    events = await browser.follow()
    assert [kind for kind, _ in events][-1] == "over"
    answers = [json.loads(data) for kind, data in events if kind == "answer"]
    assert "Saved: “I keep two parrots" in answers[-1]
    assert (await browser.follow())[-1] == ("over", "null")


@pytest.mark.slow
async def test_another_browser_is_somebody_else_and_sees_nothing(browser, make_browser):
    await browser.say("I keep two parrots, and my e-mail is ann@example.com.")
    other = make_browser()
    await other.open()
    assert "parrots" not in other.part("stored") + other.part("unstored")
    assert "Nothing said yet" in other.page
    await other.say("Which parrots do I keep?")
    assert "I keep two parrots" not in other.page
    assert "ann@example.com" not in re.sub("<form.*?</form>", "", other.page, flags=re.DOTALL)


@pytest.mark.slow
async def test_people_of_one_browser_are_kept_apart(browser):
    await browser.say("I keep two parrots.")
    await browser.post("/person", person="vera")
    assert "Nothing said yet" in browser.page
    assert "parrots" not in browser.part("stored")
    await browser.post("/person", person="ann")
    assert "I keep two parrots" in browser.part("talk")


@pytest.mark.slow
@pytest.mark.parametrize("language", ["vi", "ru", "zh"])
async def test_the_page_is_there_in_the_language_that_is_asked_for(browser, make_browser, language):
    other = make_browser()
    await other.open(**{"Accept-Language": language})
    await browser.post("/language", language=language)
    for page in (browser.page, other.page):
        assert f'<html lang="{language}">' in page
        assert "Never stored" not in page
    await browser.post("/language", language="en")
    assert "Never stored" in browser.page


@pytest.mark.slow
async def test_a_refusal_is_shown_in_its_own_words(browser):
    await browser.say("x" * 501)
    assert "raise DISCREET_MAX_INPUT_CHARS" in browser.part("talk")
    assert (await browser.post(text="  ")).status_code == 422
    assert "Write something first." in browser.page


@pytest.mark.slow
async def test_one_turn_at_a_time_until_a_new_conversation_begins(browser, monkeypatch):
    async def waiting(_state):
        await asyncio.Event().wait()

    async def graph(*_args, **_options):
        builder = StateGraph(ConversationState)
        builder.add_node("assistant", waiting)
        return builder.add_edge(START, "assistant").add_edge("assistant", END).compile()

    monkeypatch.setattr(playing, "compiled_graph", graph)
    assert (await browser.post(text="Hello")).status_code == 200
    assert "data-running" in browser.page
    assert (await browser.post(text="And?")).status_code == 409
    assert "Wait for the answer" in browser.page
    await browser.post("/conversation")
    assert "Nothing said yet" in browser.page


@pytest.mark.slow
async def test_a_database_that_is_away_is_told_and_the_page_goes_on(make_services, storage):
    def away():
        raise StorageUnavailableError("The database is away.")

    app = FastAPI()
    include(app, [make_playground_router(make_services(storage), Playground(away, Settings(_env_file=None)))])
    browser = Browser(app)
    await browser.open()
    assert "The database is away." in browser.part("stored")
    await browser.say("Hello")
    assert "The database is away." in browser.part("talk")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("192.0.2.7", {}),
        ("127.0.0.1", {"Host": "rebound.example"}),
        ("127.0.0.1", {"Host": "127.0.0.1.rebound.example:8000"}),
        ("127.0.0.1", {"X-Forwarded-For": "192.0.2.7"}),
        ("127.0.0.1", {"Origin": "http://elsewhere.example"}),
        ("127.0.0.1", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}),
    ],
)
async def test_nobody_comes_in_from_elsewhere(make_browser, address, headers):
    browser = make_browser(address)
    answer = await browser.open(**headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert "form_token" not in answer.text


async def test_a_form_has_to_come_from_the_page_itself(browser, make_browser):
    for origin in (None, "http://127.0.0.1:9000", "http://elsewhere.example"):
        assert (await browser.post(text="Hello", origin=origin)).status_code == 403
        await browser.open()
    assert (await browser.post(text="Hello", form_token="0" * 64)).status_code == 403
    await browser.open()
    assert "Nothing said yet" in browser.page
    stranger = make_browser()
    stranger.page = browser.page
    assert (await stranger.post(text="Hello")).status_code == 403


async def test_only_its_own_script_runs(browser):
    answer = await browser.open()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert re.findall("<script(.*?)>", answer.text) == re.findall(
        f'<script( src="{PAGE}/static/.*? defer)>', answer.text
    )
    assert not re.search(r"\s(on\w+|style)=", answer.text)
    cookie = (await make_cookie(browser)).lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


async def make_cookie(browser):
    browser.client.cookies.clear()
    return (await browser.open()).headers["set-cookie"]


@pytest.mark.parametrize(
    ("studio", "turned_on", "there"), [(False, True, False), (True, False, False), (True, True, True)]
)
def test_only_a_server_that_lets_the_studio_in_has_it(monkeypatch, studio, turned_on, there):
    monkeypatch.setenv("DISCREET_PLAYGROUND", str(turned_on))
    app = make_process_app(prepare_process(), studio=studio, documented=not studio)
    assert any(getattr(route, "path", "").startswith(PAGE) for route in app.routes) is there
