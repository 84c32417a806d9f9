import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph_sdk.auth import Auth
from langgraph_sdk.auth.types import StudioUser

from discreet.access.caller import Caller
from discreet.access.identity import Identities
from discreet.access.user_keys import default_user_keys
from discreet.api.auth import make_auth
from discreet.api.auth.closed import ClosedPaths, is_closed
from discreet.errors import StorageUnavailableError, UnauthorisedError

IDENTITIES = Identities(bytes(32))
ANN, BOB = IDENTITIES.of("ann"), IDENTITIES.of("bob")


class Authenticator:
    """Knows whoever says a name, and lets `anonymous` name users."""

    async def caller(self, headers, client_host):
        if "authorization" not in headers:
            raise UnauthorisedError
        name = headers["authorization"]
        return Caller(subject=name, identity=self.identity(name), names_users=name == "anonymous")

    def identity(self, subject):
        return IDENTITIES.of(subject)


class User:
    def __init__(self, identity):
        self.identity = identity


@pytest.fixture(scope="module")
def auth():
    async def run_exists(thread_id, run_id):
        return (thread_id, run_id) == ("thread", "run")

    return make_auth(Authenticator(), run_exists=run_exists)


def context(resource, action, *, user=ANN, permissions=()):
    user = User(user) if isinstance(user, str) else user
    return Auth.types.AuthContext(user=user, permissions=list(permissions), resource=resource, action=action)


async def ask(auth, resource, action, value=None, **who):
    """Return what the server is told, and the value as it is then."""
    value = {} if value is None else value
    handler = (auth._handlers.get((resource, action)) or auth._global_handlers)[-1]
    return await handler(ctx=context(resource, action, **who), value=value), value


async def status(auth, resource, action, value=None, **who):
    with pytest.raises(Auth.exceptions.HTTPException) as caught:
        await ask(auth, resource, action, value, **who)
    return caught.value.status_code


def kwargs(configurable=None, context=None):
    return {"kwargs": {"config": {"configurable": configurable or {}}, "context": context}}


async def authenticated(auth, *headers, client=("127.0.0.1", 1)):
    return await auth._authenticate_handler(scope={"headers": headers, "client": client})


async def test_the_server_is_told_an_identity_and_no_name(auth):
    told = await authenticated(auth, (b"Authorization", b"ann"))
    assert told == {"identity": ANN, "permissions": []}


async def test_of_a_header_that_comes_twice_the_first_counts(auth):
    assert (await authenticated(auth, (b"authorization", b"ann"), (b"authorization", b"bob")))["identity"] == ANN


async def test_without_credentials_the_answer_is_401(auth):
    with pytest.raises(Auth.exceptions.HTTPException) as caught:
        await authenticated(auth, client=None)
    assert caught.value.status_code == 401


@pytest.mark.parametrize(
    ("resource", "action"),
    [
        (resource, action)
        for resource in ("threads", "assistants", "crons")
        for action in ("create", "read", "update", "delete", "search")
    ],
)
async def test_every_answer_is_limited_to_the_callers_own(auth, resource, action):
    told, _ = await ask(auth, resource, action, {"payload": {}})
    if (resource, action) in {("assistants", "read"), ("assistants", "search")}:
        assert told == {"$or": [{"owner": ANN}, {"created_by": "system"}]}
    else:
        assert told == {"owner": ANN}


@pytest.mark.parametrize(
    ("resource", "action"), [("threads", "share"), ("runs", "read"), ("store", "export"), ("new", "read")]
)
async def test_what_no_handler_knows_is_refused(auth, resource, action):
    assert (await ask(auth, resource, action))[0] is False


@pytest.mark.parametrize("resource", ["threads", "assistants", "crons"])
@pytest.mark.parametrize("action", ["create", "update"])
async def test_no_client_writes_the_owner(auth, resource, action):
    metadata = {"owner": BOB, "created_by": "system", "note": 1}
    _, value = await ask(auth, resource, action, {"metadata": metadata, "payload": {}})
    assert value["metadata"] is metadata
    assert metadata == {"owner": ANN, "note": 1}


async def test_the_owner_of_a_runs_thread_is_who_calls(auth):
    told, value = await ask(auth, "threads", "create_run", {"metadata": {"owner": BOB}, **kwargs()})
    assert told == {"owner": ANN}
    assert value["metadata"] == {"owner": ANN}


@pytest.mark.parametrize("named", [None, "ann", ANN])
async def test_a_run_works_with_the_memories_of_who_calls(auth, named):
    said = {} if named is None else {"user_id": named}
    _, value = await ask(auth, "threads", "create_run", kwargs(dict(said), dict(said)))
    assert value["kwargs"]["config"]["configurable"]["user_id"] == ANN
    assert value["kwargs"]["context"] == {"user_id": ANN}


@pytest.mark.parametrize(
    ("named", "expected"), [("bob", 403), (BOB, 403), ("", 422), (7, 403), (True, 422), ("\n", 422)]
)
async def test_a_run_in_somebody_elses_name_is_refused(auth, named, expected):
    assert await status(auth, "threads", "create_run", kwargs({"user_id": named})) == expected
    given = {"__context_provided__": True, "user_id": named}
    assert await status(auth, "threads", "create_run", kwargs(given, {"user_id": named})) == expected


async def test_a_context_of_a_schema_without_users_gets_none(auth):
    _, value = await ask(auth, "threads", "create_run", kwargs({"__context_provided__": True, "x": 1}, {"x": 1}))
    assert value["kwargs"]["context"] == {"x": 1}
    assert value["kwargs"]["config"]["configurable"]["user_id"] == ANN


async def test_who_may_name_users_does_and_the_name_is_made_opaque(auth):
    who = {"user": IDENTITIES.of("anonymous"), "permissions": ["users:name"]}
    _, value = await ask(auth, "threads", "create_run", kwargs({"user_id": "bob"}), **who)
    assert value["kwargs"]["config"]["configurable"]["user_id"] == BOB
    _, again = await ask(auth, "threads", "create_run", value, **who)
    assert again["kwargs"]["config"]["configurable"]["user_id"] == BOB


async def test_a_run_is_deleted_only_in_its_own_thread(auth):
    assert await status(auth, "threads", "delete", {"thread_id": "thread", "run_id": "another thread's"}) == 404
    assert (await ask(auth, "threads", "delete", {"thread_id": "thread", "run_id": "run"}))[0] == {"owner": ANN}


async def test_an_assistant_speaks_for_its_owner(auth):
    value = {"config": {"configurable": {"user_id": "ann"}}, "context": {"user_id": ANN}, "metadata": {}}
    _, value = await ask(auth, "assistants", "create", value)
    assert value["config"]["configurable"]["user_id"] == value["context"]["user_id"] == ANN
    for part in ({"config": {"configurable": {"user_id": BOB}}}, {"context": {"user_id": "bob"}}):
        assert await status(auth, "assistants", "create", {**part, "metadata": {}}) == 403
        assert await status(auth, "assistants", "update", {**part, "metadata": {}}) == 403


async def test_a_cron_cant_say_who_it_is(auth):
    forged = {"langgraph_auth_user": {"identity": BOB}, "langgraph_auth_permissions": ["users:name"], "cron_id": "1"}
    for said in ({"config": {"configurable": dict(forged)}}, {"context": dict(forged)}):
        for action in ("create", "update"):
            _, value = await ask(auth, "crons", action, {"payload": {**said}, "metadata": {}})
            assert value["payload"]["config"]["configurable"] == {"cron_id": "1"}
            assert "context" not in value["payload"]


async def test_a_cron_works_with_the_memories_of_its_owner(auth):
    _, value = await ask(auth, "crons", "create", {"payload": {"context": {"user_id": "ann"}}, "metadata": {}})
    assert value["payload"]["config"]["configurable"]["user_id"] == ANN
    for said in ({"config": {"configurable": {"user_id": BOB}}}, {"context": {"user_id": BOB}}):
        assert await status(auth, "crons", "create", {"payload": said, "metadata": {}}) == 403
        assert await status(auth, "crons", "update", {"payload": said, "metadata": {}}) == 403


async def test_a_cron_of_who_may_name_users_may_when_its_time_comes(auth):
    who = {"user": IDENTITIES.of("anonymous"), "permissions": ["users:name"]}
    payload = {"config": {"configurable": {"user_id": "bob"}}}
    _, value = await ask(auth, "crons", "create", {"payload": payload, "metadata": {}}, **who)
    assert value["payload"]["config"]["configurable"] == {
        "user_id": BOB,
        "langgraph_auth_permissions": ["users:name"],
    }


def auth_over(checkpoints):
    """Return the auth of a server whose checkpointer has these threads."""

    async def owner_of(thread_id):
        found = checkpoints.get(thread_id)
        if isinstance(found, Exception):
            raise found
        return found

    return make_auth(Authenticator(), owner_of=owner_of)


ASKS = [("create", {}, 409), ("create_run", {"if_not_exists": "create", **kwargs()}, 404)]


@pytest.mark.parametrize(("action", "value", "refused"), ASKS, ids=["thread", "run"])
async def test_a_thread_whose_checkpoints_are_somebody_elses_is_not_made(action, value, refused):
    keys = default_user_keys()
    auth = auth_over({"ann's": keys.of_user(ANN), "nobody's": keys.of_thread("nobody's")})
    assert await status(auth, "threads", action, {**value, "thread_id": "ann's"}, user=BOB) == refused
    for thread_id, user in (("ann's", ANN), ("nobody's", BOB), ("new", BOB), (None, BOB)):
        told, _ = await ask(auth, "threads", action, {**copy.deepcopy(value), "thread_id": thread_id}, user=user)
        assert told == {"owner": user}


async def test_a_run_in_a_thread_that_the_server_has_asks_no_checkpointer():
    auth = auth_over({"ann's": StorageUnavailableError("away")})
    for said in ({}, {"if_not_exists": "reject"}):
        await ask(auth, "threads", "create_run", {"thread_id": "ann's", **said, **kwargs()})


async def test_who_may_name_users_goes_on_with_their_threads():
    auth = auth_over({"ann's": default_user_keys().of_user(ANN)})
    who = {"user": BOB, "permissions": ["users:name"]}
    for action, value, _ in ASKS:
        await ask(auth, "threads", action, {**copy.deepcopy(value), "thread_id": "ann's"}, **who)


@pytest.mark.parametrize(("action", "value", "_"), ASKS, ids=["thread", "run"])
async def test_while_the_database_is_away_no_thread_is_made_under_an_id(action, value, _):
    auth = auth_over({"ann's": StorageUnavailableError("away")})
    assert await status(auth, "threads", action, {**value, "thread_id": "ann's"}) == 503


NAMESPACE = st.lists(st.sampled_from(["users", ANN, BOB, "notes", "a"]), max_size=5).map(tuple)


@given(NAMESPACE)
async def test_a_namespace_is_always_below_the_callers_own_and_never_twice(namespace):
    auth = make_auth(Authenticator())
    for action in ("put", "get", "delete", "search", "list_namespaces"):
        _, once = await ask(auth, "store", action, {"namespace": namespace})
        assert once["namespace"][:2] == ("users", ANN)
        _, twice = await ask(auth, "store", action, {"namespace": once["namespace"]})
        assert twice["namespace"] == once["namespace"]
        _, other = await ask(auth, "store", action, {"namespace": once["namespace"]}, user=BOB)
        assert other["namespace"][:2] == ("users", BOB)


@pytest.mark.parametrize(
    ("said", "depth", "expected"),
    [(None, 1, 3), ((), 1, 3), (("notes",), 2, 4), (("users", ANN), 3, 3), (("notes",), None, None)],
)
async def test_how_deep_namespaces_are_listed_counts_from_the_callers_own(auth, said, depth, expected):
    _, value = await ask(auth, "store", "list_namespaces", {"namespace": said, "max_depth": depth})
    assert value["max_depth"] == expected


async def test_the_studio_is_one_user_and_nobody_else(auth):
    studio = IDENTITIES.of("studio")
    for user in (StudioUser("langgraph-studio-user"), "langgraph-studio-user"):
        assert (await ask(auth, "threads", "read", user=user))[0] == {"owner": studio}
        _, value = await ask(auth, "threads", "create_run", kwargs(), user=user)
        assert value["kwargs"]["config"]["configurable"]["user_id"] == studio
        assert await status(auth, "threads", "create_run", kwargs({"user_id": ANN}), user=user) == 403


@pytest.mark.parametrize("user", [StudioUser("an account", is_authenticated=True), "", "ann", "u_short"])
async def test_whom_authenticate_has_not_seen_is_refused(auth, user):
    for resource, action in (("threads", "read"), ("store", "search"), ("crons", "create"), ("assistants", "search")):
        assert await status(auth, resource, action, {"payload": {}}, user=user) == 403


@pytest.mark.parametrize(
    ("path", "closed"),
    [
        ("/internal/truncate", True),
        ("/deploy", True),
        ("/deploy/1/stream", True),
        ("/deployments", False),
        ("/threads", False),
    ],
)
def test_routes_that_ask_nobody_who_they_are_are_closed(path, closed):
    assert is_closed(path) is closed


async def test_they_are_closed_below_a_mount_too():
    asked, sent = [], []

    async def app(scope, receive, send):
        asked.append(scope["path"])

    async def send(message):
        sent.append(message)

    closed = ClosedPaths(app)
    await closed({"type": "http", "path": "/my-api/internal/truncate", "root_path": "/my-api"}, None, send)
    assert (asked, sent[0]["status"]) == ([], 404)
