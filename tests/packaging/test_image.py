"""The image that `langgraph dockerfile` describes, as far as it can be made without an engine.

Played: what ADD copies, the install of the project, ENV, WORKDIR, and the server's module. Not played: the base image
(its server comes from the package index here, with the in-memory runtime instead of the one for Postgres and Redis), its
/api/constraints.txt (requirements.lock stands in), and the removal of files of pip that the environment never had.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import httpx
import pytest
from testkit.ports import free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
QUIET = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false"}
PRIVATE = (".env", ".env.production", "deploy/.env", "graph/.env", ".git/config", ".discreet/keys/field.key")
PRIVATE += (".langgraph_api/ops.pckl", ".venv/x", "tls.pem", "graph/jwt.key")
NEEDLESS = ("tests/x.py", "benchmarks/x.py", "build/x", "src/discreet.egg-info/x", "graph/__pycache__/x.pyc")
IN_MEMORY = {
    # What `langgraph dev` sets (langgraph_api/cli.py, run_server).
    "DATABASE_URI": ":memory:",
    "REDIS_URI": "fake",
    "MIGRATIONS_PATH": "__inmem",
    "LANGGRAPH_RUNTIME_EDITION": "inmem",
    "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
    "LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev",
    "N_JOBS_PER_WORKER": "1",
}


@dataclass
class Image:
    """What the steps of a Dockerfile made under `root` instead of /."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    runs: list[str] = field(default_factory=list)

    def inside(self, text):
        """Return `text` with the image's /deps where it lies here."""
        return text.replace("/deps/", f"{self.root}/deps/")


def steps(dockerfile):
    """Yield instruction and argument of each step, continued lines joined, comments left out."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            yield tuple(line.strip().split(maxsplit=1))


def play(dockerfile, context, root):
    """Do what ADD, ENV and WORKDIR say; RUN is only noted."""
    image = Image(root)
    for instruction, argument in steps(dockerfile):
        match instruction:
            case "FROM":
                pass
            case "ADD":
                source, target = argument.split()
                copy(context / source, root / target.lstrip("/"), (context / ".dockerignore").read_text())
            case "ENV":
                name, value = argument.split("=", 1)
                (image.environment[name],) = shlex.split(value)
            case "WORKDIR":
                image.workdir = argument
            case "RUN":
                image.runs.append(argument)
            case _:
                pytest.fail(f"The Dockerfile has a step that is not played: {instruction}")
    return image


def copy(source, target, dockerignore):
    """Copy what .dockerignore leaves, by Docker's rules: the last pattern that matches a path or a folder of it decides."""
    rules = [line.strip() for line in dockerignore.splitlines() if line.strip() and not line.startswith("#")]
    for path in source.rglob("*"):
        relative = PurePosixPath(path.relative_to(source).as_posix())
        if path.is_file() and not ignored(relative, rules):
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / relative)


def ignored(path, rules):
    """Tell whether .dockerignore leaves `path` out; patterns are anchored at the root, unlike those of git."""
    out = False
    for rule in rules:
        pattern = rule.removeprefix("!").strip("/").split("/")
        if any(matches(path.parts[:length], pattern) for length in range(1, len(path.parts) + 1)):
            out = not rule.startswith("!")
    return out


def matches(parts, pattern):
    """Tell whether all of `parts` match the pattern, whose ** stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(matches(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and matches(parts[1:], pattern[1:])


def outside_variables():
    private = ("DISCREET_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "LANGSERVE_", "PG", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(private)} | QUIET


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """A checkout with what lies about in one that is worked in."""
    folder = tmp_path_factory.mktemp("context") / "discreet-server"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name in (*PRIVATE, *NEEDLESS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("not for the image")
    return folder


@pytest.fixture(scope="module")
def dockerfile(context, tmp_path_factory):
    path = tmp_path_factory.mktemp("dockerfile") / "Dockerfile"
    command = [BIN / "langgraph", "dockerfile", "--config", context / "langgraph.json", path]
    subprocess.run(command, cwd=context, env=outside_variables(), check=True, capture_output=True)
    return path.read_text()


@pytest.fixture(scope="module")
def image(dockerfile, context, tmp_path_factory):
    return play(dockerfile, context, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def added(image):
    (project,) = (image.root / "deps").iterdir()
    return project, {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}


def test_the_image_has_what_is_needed_and_nothing_private(image, context):
    """What the image of deploy/aegra copies is left by the same .dockerignore."""
    (project,) = (image.root / "deps").iterdir()
    added = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert {*PRIVATE, *NEEDLESS} & added == set()
    needed = {"pyproject.toml", "setup.py", "README.md", "LICENSE"}
    needed |= set(re.findall(r"/src/(deploy/\S+)", (ROOT / "deploy" / "aegra" / "Dockerfile").read_text()))
    for room in ("graph", "nodes", "prompts", "state", "src/discreet"):
        needed |= {str(path.relative_to(context)) for path in (context / room).rglob("*") if path.is_file()}
    assert needed - {*PRIVATE, *NEEDLESS} - added == set()


@pytest.fixture(scope="module")
def python(image, tmp_path_factory):
    """A clean environment with the server, as the base image has one, and then what the Dockerfile installs."""
    venv = tmp_path_factory.mktemp("clean") / "venv"
    constraints = venv.parent / "constraints.txt"
    lock = (ROOT / "requirements.lock").read_text()
    constraints.write_text("\n".join(re.findall(r"^[A-Za-z0-9_.\[\]-]+==[^\\\n]+", lock, re.MULTILINE)))
    uv, python = str(BIN / "uv"), venv / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, venv], check=True)
    pip = [uv, "pip", "install", "--quiet", "--python", str(python)]
    base = ["langgraph-api", "langgraph-runtime-inmem", "-c", str(constraints)]
    subprocess.run([*pip, *base], check=True, env=outside_variables())
    for run in image.runs:
        if "uv pip install" in run and "/api/constraints.txt" in run:
            played = image.inside(run).replace("/api/constraints.txt", str(constraints))
            played = played.replace("uv pip install --system --no-cache-dir", shlex.join(pip))
            subprocess.run(["/bin/sh", "-ec", played], check=True, env=outside_variables(), capture_output=True)
    # The last steps remove these; the rest of them puts the image's own server back, which nothing here overwrote.
    subprocess.run([uv, "pip", "uninstall", "--quiet", "--python", python, "pip", "setuptools", "wheel"], check=True)
    return python


@pytest.fixture
def server(image, python, database, redis_url, tmp_path):
    """The server's module, started as the image's settings say."""
    port = free_port()
    environment = outside_variables() | IN_MEMORY
    environment |= {name: image.inside(value) for name, value in image.environment.items()}
    environment |= {
        "DISCREET_POSTGRES_DSN": database,
        "DISCREET_REDIS_URL": redis_url,
        "DISCREET_DEFAULT_USER": "ann",
        "DISCREET_ALLOW_ANONYMOUS": "true",
    }
    command = [python, "-m", "uvicorn", "langgraph_api.server:app", "--host", "127.0.0.1", "--port", str(port)]
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=image.inside(image.workdir), env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield wait_until_ready(process, f"http://127.0.0.1:{port}", log)
    finally:
        process.terminate()
        process.wait(60)


def wait_until_ready(process, url, log):
    for _ in range(450):
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            if httpx.get(f"{url}/ok").is_success:
                return url
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"The server did not start:\n{log.read_text()[-3000:]}")


def test_the_server_starts_in_the_image_and_answers_from_memory(server):
    def say(text):
        message = {"messages": [{"role": "user", "content": text}]}
        body = {"assistant_id": "agent", "input": message, "context": {"user_id": "ann"}}
        reply = httpx.post(f"{server}/runs/wait", json=body, timeout=120)
        assert reply.is_success, reply.text
        return reply.json()["messages"][-1]["content"]

    say("I keep two African Grey parrots.")
    assert "African Grey parrots" in say("Which birds do I have?")
