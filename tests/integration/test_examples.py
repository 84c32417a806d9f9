"""The examples run as they are, on a database of their own."""

import os
import runpy
import secrets
from pathlib import Path

import pytest
from testkit.scripts import run_script

from discreet.errors import EncryptionError
from discreet.testing import check_key_wrapper

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOWS = {
    "agent_middleware": "African Grey parrots",
    "blocking_graph": "African Grey parrots",
    "deliveries": "once",
    "envelope_keys": "the second data key: Keeps two African Grey parrots",
    "existing_react_graph": "African Grey parrots",
    "fastapi_app": "African Grey parrots",
    "human_approval": "on its way",
    "media_input": "doctor",
}


def test_every_example_is_run():
    assert sorted(SHOWS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWS)
def test_an_example_runs(name, database, tmp_path):
    environment = {**os.environ, "DISCREET_POSTGRES_DSN": database, "DISCREET_DATA_DIR": str(tmp_path / "data")}
    environment["DISCREET_JWT_SECRET"] = secrets.token_hex(32)
    done = run_script(EXAMPLES / f"{name}.py", environment=environment)
    assert done.returncode == 0, done.stderr
    assert SHOWS[name] in done.stdout.splitlines()[-1]


def test_the_wrapper_of_the_example_keeps_the_rules_and_says_what_a_service_refuses():
    example = runpy.run_path(str(EXAMPLES / "envelope_keys.py"))
    with example["local_service"]("token of a test") as url:
        wrapper = example["TransitKeyWrapper"](url, "token of a test")
        check_key_wrapper(wrapper)
        stranger = example["TransitKeyWrapper"](url, "another")
        with pytest.raises(EncryptionError, match=r"403.*policy"):
            stranger.unwrap(wrapper.wrap(bytes(32)))
    with pytest.raises(EncryptionError, match="KMS_URL"):
        wrapper.wrap(bytes(32))
