"""What has to hold for every operation of a server, whatever it is made of: a suite of tests calls these, one row each."""

import json
import re

RENAMED = {
    "{asking_id}": "{thread_id}",
    "{namespace_of_subgraph}": "{namespace}",
    "{identity}": "{user}",
    "session/{thread_id}": "session/{session_id}",
}

REFUSALS = frozenset({303, 307, 401, 403, 415, 422})
"""What somebody gets who is no administrator; a page leads to the form to sign in."""


def named(operation):
    """Return an operation as the server has it."""
    method, path = operation
    for ours, theirs in RENAMED.items():
        path = path.replace(ours, theirs)
    return method, path


def operations_of(openapi):
    """Return method and path of all that an OpenAPI document lists."""
    return {(method.upper(), path) for path, methods in openapi["paths"].items() for method in methods}


def filled(path, things):
    """Return a path with somebody's ids in it."""
    return re.sub(r"\{(\w+)\}", lambda name: getattr(things, name[1], "") or name[1], path)


async def send(client, attempt, things):
    """Make the attempt; return the answer, and what was sent."""
    path, body, query = filled(attempt.path, things), attempt.body(things), attempt.query(things)
    content = None if body is None else json.dumps(body)
    headers = {"content-type": "application/json"} if content else None
    response = await client.request(attempt.method, path, content=content, headers=headers, params=query)
    return response, f"{path} {content} {query}"


def check_nothing_told(response, things, sent):
    """Check that an answer has nothing of somebody's but what was sent."""
    assert {secret for secret in things.secrets() if secret in response.text and secret not in sent} == set()


async def check_others_get_nothing(carol, things, untouched, attempt):
    """Check that somebody else gets what the attempt says, and has changed nothing."""
    response, sent = await send(carol, attempt, things)
    assert response.status_code in attempt.told, response.text
    check_nothing_told(response, things, sent)
    if attempt.counts:
        assert response.json() == 0
    if not attempt.only_looks:
        await untouched.check(attempt.part)


async def check_owner_gets_it(owner, things, attempt):
    """Check that the attempt works where it is made by whose things they are."""
    response, _ = await send(owner, attempt, things)
    assert response.status_code in attempt.owner, response.text
    if attempt.counts:
        assert response.json() > 0


async def check_stranger_is_refused(stranger, things, attempt):
    """Check that who can't say who they are gets nothing, and is told so. What they change, `Untouched` tells."""
    response, sent = await send(stranger, attempt, things)
    assert response.status_code == 401, response.text
    check_nothing_told(response, things, sent)


async def check_open_tells_nothing(stranger, things, operation):
    """Check that what anybody may see has nothing of anybody."""
    response = await stranger.get(operation[1])
    assert response.is_success, f"{response.status_code} {response.text}"
    assert not any(secret in response.text for secret in things.secrets())


async def check_administrators_only(others, things, operation):
    """Check that none of `others`, clients by what one calls them, is let do what takes an administrator."""
    method, path = operation
    body = {"json": {}} if method == "PATCH" else {}
    for who, client in others.items():
        response = await client.request(method, filled(path, things), **body)
        assert response.status_code in REFUSALS, f"{who}: {response.text}"
        assert things.word not in response.text
