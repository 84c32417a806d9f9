"""The layer in front of the LangGraph server names who acts, and tells who was refused."""

from __future__ import annotations

import pytest

from discreet.access.actor import SELF, current_actor
from discreet.api.actors import Denials
from discreet.api.ingress import Ingress
from discreet.ports import NOBODY
from discreet.testing import InMemoryAuditLog


@pytest.fixture
def audit():
    return InMemoryAuditLog()


@pytest.fixture
def ingress(recorder, ingress, vault, redactor, audit):
    return Ingress(
        recorder, authenticator=ingress._authenticator, redactor=redactor, vault=vault, denials=Denials(audit)
    )


async def test_whoever_calls_acts_below_it(call, recorder):
    seen = []
    recorder.replies = [lambda _: (seen.append(current_actor()), b"{}")[1]]
    await call("POST", "/threads/search", {}, headers=[(b"user-agent", b"sdk/1")])
    assert (seen[0].kind, seen[0].ip_address, seen[0].user_agent) == ("user", "127.0.0.1", "sdk/1")
    assert seen[0].identity.startswith("u_")
    assert current_actor() == SELF


async def test_who_is_unknown_is_told_once(call, audit):
    assert (await call("POST", "/threads/search", {}, user=None)).status == 401
    assert [(entry.user_key, entry.data) for entry in audit.entries] == [(NOBODY, "unauthorised")]


async def test_who_names_another_user_is_told_with_them(call, audit, thread):
    body = {"assistant_id": "discreet", "input": None, "context": {"user_id": "bob"}}
    assert (await call("POST", f"/threads/{thread}/runs", body)).status == 403
    [entry] = audit.entries
    assert entry.user_key != NOBODY
    assert entry.actor is not None


async def test_what_is_refused_for_other_reasons_is_no_denial(call, audit):
    assert (await call("POST", "/threads/search", b"{")).status == 400
    assert not audit.entries
