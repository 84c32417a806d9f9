"""`discreet serve` as a program: its first start, several processes over one port, and its end."""

import asyncio
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from uuid import uuid4

import httpx
import psutil
import pytest
from testkit.clients import NO_CERTIFICATES, local_client
from testkit.keys import IDENTITY_KEY_SETTING
from testkit.ports import free_port
from testkit.serving import DISCREET, clean_environment, serving

pytestmark = pytest.mark.slow

AT_ONCE = 16


@contextmanager
def served(folder, *options, **settings):
    """Run the command in `folder`; yield its address, and the process."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [DISCREET, "serve", "--port", str(port), *options]
    with serving(command, folder, url, environment=clean_environment(**settings)) as process:
        yield url, process


def token_of(folder, *arguments):
    done = subprocess.run(
        [DISCREET, "token", *arguments], cwd=folder, env=clean_environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def run_to_its_end(folder, *options, **settings):
    """Return exit code and output of a command that is not to serve at all."""
    done = subprocess.run(
        [DISCREET, "serve", *options],
        cwd=folder,
        env=clean_environment(**settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the server of this module was started, for the first time and without any setting."""
    return tmp_path_factory.mktemp("first")


@pytest.fixture(scope="module")
def server(folder):
    with served(folder, "--workers", "2") as (url, process):
        yield url, process


@pytest.fixture(scope="module")
def url(server):
    return server[0]


@pytest.fixture(scope="module")
def anns(folder, server):
    return bearer(token_of(folder, "ann"))


def test_the_first_start_needs_no_setting_and_logs_no_token(folder, url, anns):
    with httpx.Client(base_url=url, headers=anns, verify=NO_CERTIFICATES) as ann:
        assert ann.post("/memory/store", json={"short_answer": "I keep two African Grey parrots."}).status_code == 201
        found = ann.post("/memory/search", json={"q": "flying animal"}).json()["results"]
        assert "parrots" in found[0]["entry"]["short_answer"]
        assert ann.get("/memory/metrics").status_code == 403
    log = (folder / "server.log").read_text()
    assert "discreet token developer" in log
    assert "eyJ" not in log  # as every token begins


def test_the_documentation_loads_nothing_from_elsewhere(url):
    with httpx.Client(base_url=url, verify=NO_CERTIFICATES) as client:
        page = client.get("/docs").text
        assert "://" not in page
        for name in ("swagger-ui-bundle.js", "swagger-ui.css", "favicon.png"):
            assert f"/memory/docs/{name}" in page
            assert client.get(f"/memory/docs/{name}").is_success


async def test_a_call_that_comes_to_both_processes_at_once_is_done_once(url, anns, token):
    key, body = str(uuid4()), {"short_answer": "One of these is stored.", "session_id": token}

    async def store():
        async with local_client(url, anns | {"idempotency-key": key}) as client:
            return await client.post("/memory/store", json=body)

    answers = await asyncio.gather(*(store() for _ in range(AT_ONCE)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert sum(a.status_code == 201 and "idempotency-replayed" not in a.headers for a in answers) == 1
    async with local_client(url, anns) as ann:
        entries = (await ann.get("/memory/query", params={"session_id": body["session_id"]})).json()["entries"]
    assert len(entries) == 1


def children(process):
    """Return the processes that serve: those of uvicorn's supervisor that are no helper of multiprocessing."""
    (supervisor,) = psutil.Process(process.pid).children()
    found = []
    for child in supervisor.children():
        with suppress(psutil.NoSuchProcess):  # a zombie
            found += [child] if "spawn_main" in " ".join(child.cmdline()) else []
    return found


async def replaced(process, killed):
    """Return the processes that serve when there is another one in the place of the killed one."""
    for _ in range(600):
        now = {child.pid for child in children(process)}
        if killed.pid not in now and len(now) > 1:
            return now
        await asyncio.sleep(0.1)
    pytest.fail("it is not replaced")


async def test_a_killed_process_is_replaced_and_the_other_one_serves_meanwhile(server, anns):
    url, process = server
    killed, left = children(process)
    killed.kill()
    assert left.pid in await replaced(process, killed)
    for _ in range(AT_ONCE):
        async with local_client(url, anns) as ann:
            assert (await ann.get("/memory/query")).is_success


def test_sigterm_lets_a_request_under_way_end_and_leaves_no_process(tmp_path):
    with served(tmp_path, "--workers", "2") as (url, process):
        tree = psutil.Process(process.pid).children(recursive=True)
        token = token_of(tmp_path, "ann")
        body = b'{"short_answer": "I am slow."}'
        head = f"POST /memory/store HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(head.encode() + body[:10])
            assert httpx.get(f"{url}/ok", verify=NO_CERTIFICATES).is_success  # by now the other one is being read
            process.send_signal(signal.SIGTERM)
            wait_until_told(tmp_path / "server.log", "Shutting down", 2)
            connection.sendall(body[10:])
            assert connection.recv(1000).startswith(b"HTTP/1.1 201")
        assert process.wait(60) == 0
        assert psutil.wait_procs(tree, timeout=20)[1] == []


def wait_until_told(log, words, times):
    """Wait until the server has said that so often."""
    for _ in range(600):
        if log.read_text().count(words) >= times:
            return
        time.sleep(0.05)
    pytest.fail(f"{words} is not said")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"DISCREET_JWT_SECRET": "short"}, "DISCREET_JWT_SECRET"),
        ({"DISCREET_API_KEYS": "nonsense"}, "DISCREET_API_KEYS"),
        ({"DISCREET_POSTGRES_DSN": "postgresql://nobody@127.0.0.1:1/none"}, "DISCREET_POSTGRES_DSN"),
    ],
)
def test_what_can_not_work_is_one_sentence_at_the_end(tmp_path, settings, says):
    code, output = run_to_its_end(tmp_path, "--workers", "2", "--port", str(free_port()), **settings)
    assert code == 2, output
    last = output.strip().splitlines()[-1]
    assert last.startswith("discreet: ")
    assert says in last


def test_a_port_that_is_taken_is_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, output = run_to_its_end(tmp_path, "--port", str(other.getsockname()[1]))
    assert code == 2
    assert output.startswith("discreet: Port ")
    assert len(output.splitlines()) == 1


def test_settings_say_who_may_call(tmp_path):
    settings = {"DISCREET_ALLOW_ANONYMOUS": "true", "DISCREET_IDENTITY_KEY": IDENTITY_KEY_SETTING}
    with served(tmp_path, **settings) as (url, _), httpx.Client(base_url=url, verify=NO_CERTIFICATES) as client:
        assert client.get("/memory/query").is_success
        for elsewhere in (
            {"x-forwarded-for": "192.0.2.7"},
            {"host": "discreet.example"},
            {"origin": "http://a.example"},
        ):
            assert client.get("/memory/query", headers=elsewhere).status_code == 401
    assert (tmp_path / ".discreet").stat().st_mode & 0o077 == 0


async def test_an_administrator_is_signed_in_and_out_at_both_processes(folder, url):
    async def settings_seen(cookies):
        """Return the statuses of the page on connections of their own, which come to both."""
        seen = set()
        for _ in range(AT_ONCE):
            async with local_client(url) as browser:
                browser.cookies.update(cookies)
                seen.add((await browser.get("/memory/admin/settings")).status_code)
        return seen

    async with local_client(url, {"origin": url}) as browser:
        credential = token_of(folder, "boss", "--admin")
        for path, fields in (("login", {"credential": credential}), ("logout", {})):
            page = (await browser.get(f"/memory/admin/{path if path == 'login' else 'settings'}")).text
            fields["form_token"] = page.partition('name="form_token" value="')[2].partition('"')[0]
            cookies = dict(browser.cookies)
            assert (await browser.post(f"/memory/admin/{path}", data=fields)).status_code == 303
            cookies = cookies if path == "logout" else dict(browser.cookies)
            assert await settings_seen(cookies) == ({303} if path == "logout" else {200})
