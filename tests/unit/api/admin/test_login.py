"""Who gets in, and who doesn't."""

import base64
import dataclasses
import json
import logging
from dataclasses import replace

import jwt
import pytest
from fastapi import FastAPI
from testkit.pages import Web

from discreet.access.authenticator import Authenticator
from discreet.api.admin import make_admin_router
from discreet.api.pages.attempts import (
    MAX_REMEMBERED,
    MOST,
    MOST_SHARED,
    WINDOW_SECONDS,
    Attempts,
    Limit,
)
from discreet.api.pages.sessions import SESSION_SECONDS, Sessions
from discreet.errors import ConfigurationError, ShortTermError
from discreet.redaction.logged.formats import JsonFormatter
from discreet.settings import Settings
from discreet.testing import InMemoryShortTermStore

PAGES = ["/settings", "/history", "/people", "/people/u-1/memories", "/people/u-1/recall"]


@pytest.mark.parametrize("path", PAGES)
async def test_without_a_session_every_page_leads_to_the_login(web, path):
    response = await web.http.get(f"/memory/admin{path}")
    assert response.status_code == 303
    assert response.headers["location"] == "/memory/admin/login"


async def test_an_administrator_gets_in_by_token_and_by_key(world, web):
    for credential in (world.gate.boss, f"Bearer {world.gate.boss}", world.gate.key):
        page = await web.sign_in(credential)
        assert page.status_code == 200
        assert "<h1>People</h1>" in page.text
        await web.post("/memory/admin/logout", {"form_token": web.fields()["form_token"]})
        assert "<h1>Sign in</h1>" in web.text


async def test_somebody_who_is_no_administrator_gets_a_403_page(world, web):
    page = await web.sign_in(world.gate.clerk)
    assert page.status_code == 403
    assert "You are no administrator" in web.words
    assert (await web.http.get("/memory/admin/settings")).status_code == 303


async def test_a_wrong_token_is_refused_and_neither_shown_nor_logged(web, token, caplog):
    with caplog.at_level(logging.DEBUG, logger="discreet"):
        page = await web.sign_in(token)
    assert page.status_code == 401
    assert 'role="alert"' in page.text
    assert token not in page.text
    assert token not in caplog.text
    assert "pages.login_refused area=admin reason=unknown" in caplog.text


async def test_an_empty_form_is_refused_beside_its_field(web):
    page = await web.sign_in("")
    assert page.status_code == 401
    assert "Paste a token or a key." in web.words


async def test_where_one_person_needs_no_credentials_the_form_may_be_empty(web):
    key = base64.b64encode(bytes(32)).decode()
    settings = Settings(_env_file=None, allow_anonymous=True, identity_key=key)
    services = dataclasses.replace(web.world.services, authenticator=Authenticator(settings))
    app = FastAPI()
    app.include_router(make_admin_router(services))
    alone = type(web)(app, base_url="http://127.0.0.1")
    async with alone.http:
        assert "<h1>People</h1>" in (await alone.sign_in("")).text


async def test_a_header_of_the_request_is_no_credential_of_the_form(world, web):
    await web.get("/memory/admin/login")
    page = await web.post("/memory/admin/login", web.fields(), headers={"authorization": f"Bearer {world.gate.boss}"})
    assert page.status_code == 401


async def test_the_session_is_a_strict_http_only_cookie_of_these_pages(world, web):
    await web.get("/memory/admin/login")
    response = await web.http.post("/memory/admin/login", data={**web.fields(), "credential": world.gate.boss})
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/memory/admin" in cookie
    assert "secure" not in cookie
    assert world.gate.boss.lower() not in cookie


async def test_the_cookie_is_secure_where_the_browser_came_by_https(web):
    response = await web.http.get("/memory/admin/login", headers={"x-forwarded-proto": "https"})
    assert "Secure" in response.headers["set-cookie"]


async def test_signing_in_changes_the_session(world, web):
    await web.get("/memory/admin/login")
    before = dict(web.http.cookies)
    await web.send(credential=world.gate.boss)
    assert dict(web.http.cookies) != before


async def test_a_cookie_is_worth_nothing_after_signing_out(admin):
    cookies = dict(admin.http.cookies)
    await admin.post("/memory/admin/logout", {"form_token": admin.fields()["form_token"]})
    admin.http.cookies.update(cookies)
    assert (await admin.http.get("/memory/admin/settings")).status_code == 303


async def test_too_many_attempts_have_to_wait(world, web, caplog):
    for _ in range(MOST):
        assert (await web.sign_in("wrong")).status_code == 401
    page = await web.sign_in(world.gate.boss)
    assert page.status_code == 429
    told = [json.loads(JsonFormatter().format(each)) for each in caplog.records]
    assert {each["reason"] for each in told if each["event"] == "pages.login_refused"} == {"unknown", "too_many"}
    assert 0 < int(page.headers["retry-after"]) <= WINDOW_SECONDS


async def test_too_many_attempts_in_other_processes_count_too(world, web):
    other = type(web)(FastAPI(), world=world)
    async with other.http:
        other.http._transport.app.include_router(make_admin_router(world.services))
        for number in range(MOST):
            assert (await (web, other)[number % 2].sign_in("wrong")).status_code == 401
        for browser in (web, other):
            page = await browser.sign_in(world.gate.boss)
            assert page.status_code == 429
            assert 0 < int(page.headers["retry-after"]) <= WINDOW_SECONDS


async def test_where_the_short_term_store_is_down_each_process_counts_for_itself(world, caplog):
    down = InMemoryShortTermStore()
    down.claim = broken
    browser = behind(world, short_term=down)
    async with browser.http:
        for _ in range(MOST):
            assert (await browser.sign_in("wrong")).status_code == 401
        assert (await browser.sign_in(world.gate.boss)).status_code == 429
    assert "pages.attempts_not_shared cause=ShortTermError" in caplog.text


async def test_nobody_is_locked_out_by_tokens_that_others_write_their_name_into(world):
    browser = behind(world, trusted_proxies=["127.0.0.1"])
    async with browser.http:
        for number in range(MOST * 5):
            assert (await try_from(browser, f"198.51.100.{number}", forged("boss"))).status_code == 401
        assert (await try_from(browser, "203.0.113.1", world.gate.boss)).status_code == 200


async def test_who_signs_in_has_made_no_attempt(world, web):
    for _ in range(MOST * 2):
        web.http.cookies.clear()
        assert (await web.sign_in(world.gate.boss)).status_code == 200
    for number in range(MOST + 1):
        web.http.cookies.clear()
        assert (await web.sign_in("wrong")).status_code == (401 if number < MOST else 429)


@pytest.mark.parametrize("trusted", [["127.0.0.1"], []])
async def test_behind_a_proxy_one_who_tries_does_not_lock_out_the_others(world, trusted):
    browser = behind(world, trusted_proxies=trusted)
    async with browser.http:
        for _ in range(MOST * 2):
            await try_from(browser, "198.51.100.1", "wrong")
        assert (await try_from(browser, "198.51.100.2", world.gate.boss)).status_code == 200


@pytest.mark.slow
async def test_behind_a_proxy_that_is_not_trusted_there_is_an_end_too(world):
    browser = behind(world)
    async with browser.http:
        answers = {(await try_from(browser, f"198.51.100.{each}", "wrong")).status_code for each in range(MOST_SHARED)}
        assert answers == {401}
        assert (await try_from(browser, "198.51.100.200", "wrong")).status_code == 429


async def test_the_answer_is_the_same_whether_the_subject_exists(world, web):
    pages = []
    for subject in ("boss", "nobody"):
        page = await web.sign_in(forged(subject))
        pages.append((page.status_code, web.words, sorted({*page.headers} - {"set-cookie"})))
    assert pages[0] == pages[1]


async def broken(*_args, **_options):
    raise ShortTermError


def behind(world, *, short_term=None, **settings):
    """Return a browser of an application with these settings, whose peer is 127.0.0.1."""
    services = replace(
        world.services, short_term=short_term or InMemoryShortTermStore(), settings=Settings(_env_file=None, **settings)
    )
    app = FastAPI()
    app.include_router(make_admin_router(services))
    return Web(app, world=world)


async def try_from(browser, address, credential):
    browser.http.headers["x-forwarded-for"] = address
    browser.http.cookies.clear()
    return await browser.sign_in(credential)


def forged(subject):
    """Return a token that names somebody, signed by nobody whom the server knows."""
    return jwt.encode({"sub": subject}, "x" * 32, algorithm="HS256")


def test_attempts_are_forgotten_after_a_while_and_one_that_succeeds_at_once():
    now = 0.0
    attempts = Attempts(clock=lambda: now)
    one, other = Limit("a", MOST), Limit("b", MOST)
    assert [attempts.begin(one) for _ in range(MOST)] == [0] * MOST
    assert attempts.begin(one) == WINDOW_SECONDS
    assert attempts.begin(other) == 0
    now = WINDOW_SECONDS
    assert attempts.begin(one) == 0
    attempts.succeeded(one)
    assert [attempts.begin(one) for _ in range(MOST)] == [0] * MOST
    assert attempts.begin(one) == WINDOW_SECONDS


def test_attempts_of_many_addresses_take_bounded_memory():
    attempts = Attempts(clock=lambda: 0.0)
    for number in range(MAX_REMEMBERED * 2):
        attempts.begin(Limit(str(number), MOST))
    assert len(attempts._made) == MAX_REMEMBERED


def test_a_session_is_over_after_eight_hours():
    now = 1_000_000.0
    sessions = Sessions(bytes(32), "admin", clock=lambda: now)
    cookie = sessions.sign(sessions.begin("ann"))
    now += SESSION_SECONDS - 1
    assert sessions.read(cookie).identity == "ann"
    now += 1
    assert sessions.read(cookie) is None


@pytest.mark.parametrize("cookie", [None, "", "x", "a.b.c"])
def test_what_is_no_cookie_of_ours_is_none(cookie):
    assert Sessions(bytes(32), "admin").read(cookie) is None


def test_a_session_of_another_key_or_with_another_claim_is_none():
    ours, theirs = Sessions(bytes(32), "admin"), Sessions(bytes(31) + b"1", "admin")
    cookie = theirs.sign(theirs.begin("ann"))
    assert theirs.read(cookie) is not None
    assert ours.read(cookie) is None


def test_a_short_key_is_refused(world):
    with pytest.raises(ConfigurationError, match="32"):
        make_admin_router(replace(world.services, session_key=b"short"))


async def test_processes_of_one_key_know_each_others_sessions(world, web):
    key = bytes(range(32))
    first, second = FastAPI(), FastAPI()
    for app in (first, second):
        app.include_router(make_admin_router(replace(world.services, session_key=key)))
    one, other = type(web)(first), type(web)(second)
    async with one.http, other.http:
        await one.sign_in(world.gate.boss)
        other.http.cookies.update(one.http.cookies)
        assert (await other.get("/memory/admin/settings")).status_code == 200
        assert "<h1>Settings</h1>" in other.text
