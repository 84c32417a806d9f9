"""What another site, or somebody without a session, makes of the pages."""

import pytest
from fastapi import FastAPI

from discreet.api.admin import make_admin_router
from discreet.api.pages.forms import MAX_FORM_BYTES
from discreet.api.pages.sessions import Sessions

CHANGE = {"set.memory_retrieve_limit": "7"}


@pytest.fixture
def unchanged(world):
    yield
    assert world.store._changes == []


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://[evil"},
        {"origin": "http://admin.test.evil.test"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.usefixtures("unchanged")
async def test_a_form_of_another_origin_is_refused(admin, headers):
    page = await admin.post("/memory/admin/settings", admin.fields() | CHANGE, headers=headers)
    assert page.status_code == 403


@pytest.mark.usefixtures("unchanged")
async def test_a_form_that_names_no_origin_is_refused(admin):
    fields = admin.fields() | CHANGE
    del admin.http.headers["origin"]
    assert (await admin.post("/memory/admin/settings", fields)).status_code == 403


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("given", ["", "wrong", "é", None])
async def test_a_form_without_its_token_is_refused(admin, given):
    fields = admin.fields() | CHANGE | {"form_token": given}
    page = await admin.post("/memory/admin/settings", {k: v for k, v in fields.items() if v is not None})
    assert page.status_code == 403


@pytest.mark.usefixtures("unchanged")
async def test_a_token_of_another_session_is_refused(world, admin, web):
    other = type(web)(world.app)
    async with other.http:
        await other.sign_in(world.gate.key)
        stolen = other.fields()["form_token"]
    page = await admin.post("/memory/admin/settings", admin.fields() | CHANGE | {"form_token": stolen})
    assert page.status_code == 403


@pytest.mark.usefixtures("unchanged")
async def test_a_form_sent_after_the_session_ended_says_so(admin):
    fields = admin.fields() | CHANGE
    admin.http.cookies.clear()
    page = await admin.post("/memory/admin/settings", fields)
    assert page.status_code == 401
    assert "Your session is over" in admin.words


@pytest.mark.usefixtures("unchanged")
async def test_what_is_no_form_or_too_large_is_refused(admin):
    fields = admin.fields()
    assert (await admin.http.post("/memory/admin/settings", json=fields)).status_code == 415
    large = fields | {"set.embedding_model": "x" * MAX_FORM_BYTES}
    assert (await admin.post("/memory/admin/settings", large)).status_code == 413
    many = fields | {f"more{n}": "x" for n in range(300)}
    assert (await admin.post("/memory/admin/settings", many)).status_code == 400
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert (await admin.http.post("/memory/admin/settings", content=b"\xff=1", headers=form)).status_code == 400


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_script_of_another_site_reads_nothing_but_a_link_is_followed(admin, site):
    asked = {"sec-fetch-site": site, "sec-fetch-mode": "cors"}
    page = await admin.get("/memory/admin/settings", headers=asked)
    assert page.status_code == 403
    assert "Memory retrieve limit" not in admin.words
    page = await admin.get("/memory/admin/settings", headers=asked | {"sec-fetch-mode": "navigate"})
    assert page.status_code == 200


async def test_login_needs_the_token_of_its_form_too(world, web):
    await web.get("/memory/admin/login")
    page = await web.post("/memory/admin/login", {"credential": world.gate.boss})
    assert page.status_code == 403
    assert (await web.http.get("/memory/admin/settings")).status_code == 303


async def test_every_form_is_refused_without_its_token_and_without_a_session(world, admin):
    routes = make_admin_router(world.services).routes
    paths = [route.path for route in routes if "POST" in route.methods]
    assert len(paths) == 8
    for path in paths:
        address = path.format(user="u-1", entry_id="00000000-0000-0000-0000-000000000001")
        assert (await admin.post(address, {"subject": "ann", "question": "who"})).status_code == 403
    admin.http.cookies.clear()
    for path in paths:
        assert (await admin.post(path, {"form_token": "x"})).status_code in {401, 403}


@pytest.mark.parametrize(
    "path",
    ["/login", "/settings", "/history", "/people", "/static/pages.css", "/static/none.css", "/people/u-1/memories/x"],
)
async def test_every_answer_has_the_security_headers(admin, path):
    response = await admin.http.get(f"/memory/admin{path}")
    headers = response.headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src" not in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == (
        "public, max-age=31536000, immutable" if path == "/static/pages.css" else "no-store"
    )


async def test_pages_have_no_script_and_no_inline_style(admin):
    for path in ("settings", "history", "users", "users/u-1/memories", "users/u-1/recall"):
        page = await admin.get(f"/memory/admin/{path}")
        assert "<script" not in page.text
        assert " style=" not in page.text
        assert "//" not in page.text.replace("<!doctype", "").replace("http://www.w3.org", "")


async def test_the_pages_are_not_in_the_openapi(world, admin):
    paths = (await admin.http.get("/openapi.json")).json()["paths"]
    assert paths == {}


async def test_below_another_path_links_and_cookies_follow(world, web):
    outer = FastAPI()
    outer.mount("/inner", world.app)
    browser = type(web)(outer)
    async with browser.http:
        await browser.get("/inner/memory/admin/login")
        response = await browser.http.post(
            "/inner/memory/admin/login", data=browser.fields() | {"credential": world.gate.boss}
        )
        assert response.headers["location"] == "/inner/memory/admin/people"
        assert "Path=/inner/memory/admin" in response.headers["set-cookie"]


def test_a_form_token_is_of_one_session():
    sessions = Sessions(bytes(32), "admin")
    one, other = sessions.begin("ann"), sessions.begin("ann")
    assert sessions.is_form_token(one, sessions.form_token(one))
    assert not sessions.is_form_token(other, sessions.form_token(one))
