"""What people install: the wheel, in an environment that knows nothing of the checkout."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("graph", "nodes", "prompts", "state")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from what git tracks or would track, so that no stale build folder takes part."""
    source = tmp_path_factory.mktemp("source")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def fresh_python(wheel, tmp_path_factory):
    """A new environment with the wheel; its dependencies come from this one, so that nothing is downloaded."""
    venv = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # A plain path entry: .pth lines of the other environment, the editable install among them, are not executed.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = venv / "bin" / "python"
    command = python.with_name("discreet")  # as an installer writes it
    command.write_text(f"#!{python}\nfrom discreet.cli import main\n\nmain()\n")
    command.chmod(0o755)
    return python


def test_the_wheel_holds_every_file_of_every_room_in_one_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    places = [(ROOT / "src" / "discreet", ROOT / "src" / "discreet"), *((ROOT / room, ROOT) for room in ROOMS)]
    expected = {
        f"discreet/{path.relative_to(base)}"
        for folder, base in places
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == expected


def test_nodes_import_from_the_wheel(fresh_python, tmp_path):
    code = (
        "import discreet.nodes.save_input, discreet.nodes.memory_gate, discreet.nodes.retrieve_memories\n"
        "import discreet.nodes.assistant, discreet.nodes.tools, discreet.nodes.persist_filtered\n"
        "import discreet.graph, discreet.storage, discreet.checkpoint\n"
        "print(discreet.nodes.memory_gate.decide('xin chào').reason, discreet.nodes.__file__)"
    )
    out = subprocess.run([fresh_python, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert out.startswith("greeting ")
    assert str(fresh_python.parent.parent) in out


def test_the_unit_tests_pass_against_the_wheel(fresh_python, tmp_path):
    """A data file or a module that the wheel lacks is found here; `-P` keeps the checkout off the path."""
    command = [fresh_python, "-P", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
    command += ["--rootdir", ROOT, ROOT / "tests" / "unit"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:]
