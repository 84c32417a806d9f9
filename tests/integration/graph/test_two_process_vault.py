"""One process takes a request in, or begins its turn, and another one goes on: the real values go with it, and lie nowhere."""

from __future__ import annotations

import json
import os
from itertools import chain
from pathlib import Path

import psycopg
import pytest
import redis
from kit.places import files, folder_of, redis_keys
from kit.search import Words, search
from testkit.scripts import run_script

from discreet.encryption import make_key, write_key
from discreet.redaction.placeholder_key import make_placeholder_key
from discreet.state.request_ref import REQUEST_REF

pytestmark = pytest.mark.slow

STEP = Path(__file__).with_name("half_a_turn.py")


@pytest.fixture
def process(database, redis_url, tmp_path):
    """Return what runs one step in a process of its own and returns what that hands on."""
    service = {
        **os.environ,
        "DISCREET_POSTGRES_DSN": database,
        "DISCREET_REDIS_URL": redis_url,
        "DISCREET_DATA_DIR": str(tmp_path / "data"),
        "DISCREET_SPILL": "true",
        "DISCREET_ENCRYPTION_KEYS": write_key(make_key()),
        "DISCREET_PLACEHOLDER_KEY": make_placeholder_key(),
    }

    def run(step, handed, *, vault, **environment):
        chosen = {**service, "DISCREET_TURN_VAULT": vault, **environment}
        done = run_script(STEP, step, input=json.dumps(handed), environment=chosen)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def lies_readable(database, redis_url):
    """Return what tells where a text lies readable: in the files of the database, or in Redis."""

    def lies(text):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS written AS SELECT %s AS control", [f"control {database}"])
        with redis.Redis.from_url(redis_url) as client:
            places = chain(files(folder_of(database)), redis_keys(client, may_be_empty=True))
            found = search(places, Words(text=text, control=f"control {database}")).leaks
        assert "control" in found
        return sorted(found.get("text", ()))

    return lies


@pytest.mark.parametrize("vault", ["postgres", "redis"])
def test_a_worker_gets_the_request_that_another_process_took_in(process, lies_readable, token, vault):
    mail = f"{token}@example.com"
    said = f"Xin chào, 你好, напиши на {mail}"
    body = process("take", said, vault=vault)
    assert token not in json.dumps(body)
    got = process("work", body, vault=vault)
    assert got["input"] == {"text": said}
    assert mail in got["values"]
    assert lies_readable(token) == []


def test_a_worker_that_lacks_the_vault_its_keys_or_the_name_goes_on_with_placeholders(process, token):
    body = process("take", f"Write to {token}@example.com", vault="postgres")
    guessed = {**body, "config": {"configurable": {REQUEST_REF: "guessed"}}}
    lost = [
        process("work", body, vault="memory"),
        process("work", body, vault="postgres", DISCREET_ENCRYPTION_KEYS=write_key(make_key())),
        process("work", guessed, vault="postgres"),
    ]
    assert lost == [{"input": body["input"], "values": []}] * 3
    assert body["input"]["text"].startswith("Write to <EMAIL:")


@pytest.mark.parametrize("vault", ["memory", "postgres", "redis"])
def test_a_turn_that_is_approved_elsewhere_calls_its_tool_with_the_real_value(process, lies_readable, token, vault):
    """The turn itself has it, which is kept sealed."""
    mail = f"{token}@example.com"
    asked = process("begin", f"Please write to {mail}", vault=vault)
    assert asked == {"asked": ["send it?"], "received": []}
    assert lies_readable(token) == []
    done = process("resume", "yes", vault=vault)
    assert done == {"received": [[mail, "yes"]], "heard": [f"Please write to {mail}"], "said": "Done."}
    assert lies_readable(token) == []
