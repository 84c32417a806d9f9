"""Whether everybody's things are left alone by everybody else, on the REST API and the admin page by themselves."""

import json
import re
import subprocess
import sys

import pytest
from kit.search import Words, search
from ownership_battery.checks import (
    check_administrators_only,
    check_open_tells_nothing,
    check_others_get_nothing,
    check_owner_gets_it,
    check_stranger_is_refused,
    filled,
    named,
    operations_of,
    send,
)
from ownership_battery.operations import ADMINISTRATORS, EXTRACTION, MEMORIES, PERSONAL, RIGHTS
from testkit.rest_servers import EXAMPLES, MODULES, OWN_APP
from testkit.serving import clean_environment

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.slow,
]  # tests/end_to_end/ownership asks the same of the other server

ATTEMPTS = [*MEMORIES, *EXTRACTION, *RIGHTS]
IN_HER_NAME = [attempt for attempt in ATTEMPTS if attempt.note == "in her name"]
OPEN = {
    ("GET", path)
    for path in (
        "/ok",
        "/docs",
        "/openapi.json",
        "/memory/health",
        "/memory/health/live",
        "/memory/health/ready",
        "/memory/admin/login",
        "/memory/me/login",
    )
}
CHAT = {("POST", "/chat"), ("GET", "/chat/{conversation}")}
"""Of the application of one's own; test_own_app.py tries them."""
FILES = {("GET", "/memory/admin/static/{name}"), ("GET", "/memory/me/static/{name}"), ("MOUNT", "/memory/docs")}
"""They are the same for all."""

TABLE = {named(attempt.operation) for attempt in ATTEMPTS} | {
    named(operation) for operation in ADMINISTRATORS | PERSONAL
}
PAGES = re.compile("/memory/(?:admin|me)(?:/.*)?")
"""They are not in the OpenAPI."""

ROUTES = """
import json
from {} import app
found = {(method, route.path) for route in app.routes for method in getattr(route, "methods", {"MOUNT"}) - {"HEAD"}}
print(json.dumps(sorted(found)))
"""

MAY_NAME = {
    ("POST", "/memory/extraction/start"),
    ("GET", "/memory/proposals"),
    ("POST", "/memory/proposals/{proposal_key}/accept"),
    ("DELETE", "/memory/proposals/{proposal_key}"),
    ("GET", "/memory/export"),
    ("POST", "/memory/erasure"),
    ("GET", "/memory/erasure/{erasure_key}"),
    ("GET", "/memory/delegations"),
    ("POST", "/memory/delegations"),
    ("DELETE", "/memory/delegations/{delegate_key}"),
}
"""Where an administrator may say whose it is about, by docs/rest.md. Nowhere else."""


@pytest.fixture(scope="module")
def routes(kind, tmp_path_factory):
    """Method and path of all routes that the server has."""
    data = str(tmp_path_factory.mktemp("data"))
    environment = clean_environment(DISCREET_DATA_DIR=data, PYTHONPATH=str(EXAMPLES))
    command = [sys.executable, "-c", ROUTES.replace("{}", MODULES[kind], 1)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {tuple(route) for route in json.loads(done.stdout)}


async def test_every_route_of_the_server_is_in_the_table(kind, routes):
    known = TABLE | OPEN | FILES | (CHAT if kind == OWN_APP else set())
    assert routes - known == set(), "These are not tested: put them into ownership_battery/operations.py"
    assert known - routes == set(), "The server has these no longer"


async def test_every_operation_of_the_openapi_is_in_the_table(strangers):
    documented = operations_of((await strangers["no token"].get("/openapi.json")).json())
    assert documented - TABLE - OPEN - CHAT == set(), (
        "These are not tested: put them into ownership_battery/operations.py"
    )
    gone = {operation for operation in TABLE - documented if not PAGES.fullmatch(operation[1])}
    assert gone == set(), "The server has these no longer"


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
async def test_nobody_gets_at_what_is_somebody_elses(bob, things, untouched, attempt):
    await check_others_get_nothing(bob, things, untouched, attempt)


@pytest.mark.parametrize("attempt", [attempt for attempt in ATTEMPTS if attempt.owner], ids=str)
async def test_their_owner_does(carol, carols, attempt):
    await check_owner_gets_it(carol, carols, attempt)


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
async def test_who_cannot_say_who_they_are_is_refused(strangers, things, untouched, attempt):
    for stranger in strangers.values():
        await check_stranger_is_refused(stranger, things, attempt)
    if not attempt.only_looks:
        await untouched.check()


@pytest.mark.parametrize("operation", sorted(OPEN), ids=str)
async def test_what_is_open_tells_nothing_of_anybody(strangers, things, operation):
    await check_open_tells_nothing(strangers["no token"], things, operation)


@pytest.mark.parametrize("operation", sorted(ADMINISTRATORS | PERSONAL), ids=str)
async def test_what_takes_an_administrator_takes_no_other(strangers, bob, things, untouched, operation):
    await check_administrators_only({**strangers, "bob": bob}, things, operation)
    if operation[0] != "GET":
        await untouched.check()


@pytest.mark.parametrize("attempt", [attempt for attempt in ATTEMPTS if attempt.note != "in her name"], ids=str)
async def test_an_administrator_who_names_nobody_has_their_own_things_only(admin, things, untouched, attempt):
    await check_others_get_nothing(admin, things, untouched, attempt)


@pytest.mark.parametrize("attempt", IN_HER_NAME, ids=str)
async def test_an_administrator_names_others_where_the_docs_say_so(admin, carols, attempt):
    response, _ = await send(admin, attempt, carols)
    if attempt.operation in MAY_NAME:
        assert response.status_code in attempt.owner, response.text
    else:
        assert response.status_code == 403, response.text
        assert carols.word not in response.text


async def test_an_administrator_is_let_at_what_takes_one(admin, things):
    taken = [path for method, path in ADMINISTRATORS if method == "GET" and not PAGES.fullmatch(path)]
    for path in taken:
        response = await admin.get(filled(path, things))
        assert response.status_code == (422 if "{" in path else 200), path


async def test_pages_take_a_session_and_no_token(admin, things):
    for method, path in ADMINISTRATORS | PERSONAL:
        if PAGES.fullmatch(path) and method == "GET":
            response = await admin.get(filled(path, things))
            assert response.headers["location"].endswith("/login"), path


async def test_neither_rows_nor_logs_have_a_name(serve_server, things):
    names = Words(things.identity, "ann@example.com", "bob@example.com", "boss@example.com")
    assert search(serve_server.places(), names).leaks.keys() == {things.identity}
