"""The commands, as a person types them."""

import json
import re
import socket
import subprocess
from pathlib import Path

import httpx
import psycopg
import pytest
from kit.places import files
from kit.search import Words, search
from langchain_core.messages import AIMessage
from testkit.ports import free_port
from testkit.scripts import run_script

from discreet.testing import Failure, openai_server


@pytest.fixture
def discreet(discreet_command, clean_environment, tmp_path):
    """Run `discreet …` in an empty folder."""

    def run(*arguments, stdin="", **environment):
        chosen = {**clean_environment, "COLUMNS": "200", **environment}
        return run_script(Path(discreet_command), *arguments, input=stdin, environment=chosen, cwd=tmp_path)

    return run


@pytest.mark.slow
def test_demo_tells_on_one_screen_what_is_on_the_disk(discreet):
    result = discreet("demo", COLUMNS="80")
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(result.stdout.splitlines()) <= 24
    assert "on disk   I keep two African Grey parrots; mail: <EMAIL>." in result.stdout
    assert "on disk   Call <PHONE>. My API key is <SECRET>." in result.stdout
    assert "recalled  I keep two African Grey parrots" in result.stdout
    assert "not found e-mail · phone · API key · tool result" in result.stdout
    assert "FOUND" not in result.stdout
    assert "retrieve_failed" not in result.stderr


@pytest.mark.slow
def test_demo_runs_again_and_prints_all_rows_if_asked(discreet, tmp_path):
    for _ in range(2):
        result = discreet("demo", "--rows", DISCREET_IDENTITY_KEY="")
        assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / ".discreet" / "demo").is_dir()
    assert "discreet.checkpoint_messages: 8 rows, the last 4" in result.stdout


@pytest.mark.slow
def test_the_embedded_database_serves_whoever_has_its_dsn_until_it_is_stopped(
    discreet_command, clean_environment, tmp_path
):
    command = [discreet_command, "database"]
    with subprocess.Popen(command, cwd=tmp_path, env=clean_environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        dsn = running.stdout.readline().strip()
        with psycopg.connect(dsn) as connection:
            assert connection.execute("SELECT count(*) FROM discreet.memory").fetchone() == (0,)
            assert connection.execute("SELECT current_schemas(false)").fetchone() == (["public"],)
        running.terminate()
        assert running.wait(30) == 0


@pytest.mark.slow
def test_a_misspelt_setting_is_told_and_changes_nothing(discreet):
    result = discreet("key", DISCREET_RETREIVE_LIMIT="3")
    assert result.returncode == 0
    assert result.stderr == (
        "discreet: DISCREET_RETREIVE_LIMIT is no setting, and changes nothing. Did you mean DISCREET_RETRIEVE_LIMIT?\n"
    )


@pytest.mark.slow
def test_demo_shows_itself_in_a_browser_until_it_is_stopped(discreet_command, clean_environment, tmp_path):
    named = {"DISCREET_POSTGRES_DSN": "postgresql://nobody@127.0.0.1:1/none"}
    command = [discreet_command, "demo", "--web", "--port", str(port := free_port())]
    with subprocess.Popen(
        command, cwd=tmp_path, env=clean_environment | named, stderr=subprocess.PIPE, text=True
    ) as running:
        told = next(line for line in running.stderr if "Open" in line)
        assert f"http://127.0.0.1:{port}/memory/playground" in told
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True, trust_env=False) as client:
            page = client.get("/")
            elsewhere = client.get("/memory/playground", headers={"Host": "rebound.example"})
            token = re.search('name="form_token" value="([^"]+)"', page.text)[1]
            said = {"form_token": token, "text": "My e-mail is ann@example.com."}
            client.post("/memory/playground/turn", data=said, headers={"Origin": str(client.base_url).rstrip("/")})
            client.get("/memory/playground/turn")
            after = client.get("/memory/playground").text
        running.terminate()
    assert running.returncode == 0
    assert "Never stored" in page.text
    assert elsewhere.status_code == 403
    assert after.count("<h3>Memory gate</h3>") == 1
    assert "My e-mail is &lt;EMAIL&gt;" in re.sub("<.*?>", "", after)
    assert search(files(tmp_path / ".discreet" / "demo"), Words(mail="ann@example.com")).leaks == {}


@pytest.mark.slow
def test_demo_removes_nothing_but_its_own(discreet, tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "thesis.txt").write_text("years of work")
    result = discreet("demo", DISCREET_DATA_DIR=str(tmp_path))
    assert result.returncode == 2
    assert "Choose another DISCREET_DATA_DIR" in result.stderr
    assert (tmp_path / "demo" / "thesis.txt").read_text() == "years of work"


@pytest.mark.slow
def test_chat_remembers_across_conversations(discreet):
    result = discreet("chat", "--user", "ann", stdin="I keep two African Grey parrots.\n/new\nWhich birds do I have?\n")
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.split("A new conversation.")
    assert "stored: " in first
    assert "recalled: " in second
    assert "African Grey parrots" in second


@pytest.mark.slow
def test_chat_says_what_is_wrong_and_goes_on(discreet):
    result = discreet("chat", stdin=f"{'x' * 30_000}\nHello!\n/quit\n")
    assert result.returncode == 0, result.stderr
    assert "30,000 characters" in result.stdout
    assert "raise DISCREET_MAX_INPUT_CHARS" in result.stdout
    assert "OPENAI_API_KEY" in result.stdout


@pytest.mark.slow
def test_chat_talks_to_an_openai_compatible_server_and_survives_its_refusal(discreet):
    with openai_server([Failure(status=401), AIMessage("Hello, Ann.")]) as server:
        named = {"DISCREET_CHAT_MODEL": "openai:any", "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.base_url}
        result = discreet("chat", stdin="Hello!\nHi!\n", **named)
    assert result.returncode == 0, result.stderr
    refused, answered = result.stdout.split("you ›")[1:3]
    assert "AuthenticationError" in refused
    assert "Hello, Ann." in answered
    assert {request.path.rsplit("/", 1)[-1] for request in server.requests} == {"completions"}


@pytest.mark.slow
def test_a_key_alone_sends_nothing_anywhere(discreet):
    with openai_server() as server:
        key = {"OPENAI_API_KEY": "k" * 40, "OPENAI_BASE_URL": server.base_url}
        said = discreet("chat", "--user", "ann", stdin="I keep two parrots.\nWhich birds do I have?\n", **key)
        worked = discreet("worker", "--once", **key)
        extracted = discreet("extract", "--user", "ann", **key)
    assert (said.returncode, worked.returncode, extracted.returncode) == (0, 0, 0)
    assert server.requests == []


@pytest.mark.slow
def test_migrate_reports_what_it_applied_once(discreet):
    first = json.loads(discreet("migrate", "--json").stdout)
    assert first["applied"][0].startswith("0001_")
    assert "LangGraph's tables" in first["checkpoints"]["applied"]
    nothing = {"applied": [], "checkpoints": {"schema": first["checkpoints"]["schema"], "applied": []}}
    assert json.loads(discreet("migrate", "--json").stdout) == nothing
    assert discreet("migrate").stdout == discreet("migrate", "--check").stdout == "All tables are up to date.\n"


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["chat"], {"DISCREET_POSTGRES_DSN": "postgresql://nobody@127.0.0.1:1/none"}, "DISCREET_POSTGRES_DSN"),
        (["chat"], {"DISCREET_RETRIEVE_LIMIT": "many"}, "used: DISCREET_RETRIEVE_LIMIT: "),
        (["chat", "--model", "nonsense"], {}, "openai:<model>"),
        (["chat"], {"DISCREET_POSTGRES_VERSION": "12"}, "18"),
        (["dev"], {}, "langgraph.json"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(discreet, arguments, environment, said):
    result = discreet(*arguments, **environment)
    assert result.returncode == 2
    assert result.stderr.startswith("discreet: ")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_port_that_is_taken_is_named(discreet, tmp_path):
    (tmp_path / "langgraph.json").write_text("{}")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = discreet("dev", "--port", port)
    assert result.returncode == 2
    assert f"Port {port} on 127.0.0.1 can't be had" in result.stderr
