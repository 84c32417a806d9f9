"""`discreet redact` in a pipeline of real processes."""

import json
import os
import pty
import subprocess

import pytest

pytestmark = pytest.mark.slow

EMAIL = "ann@example.com"


@pytest.fixture
def start(discreet_command, clean_environment, tmp_path):
    """Start `discreet redact …` in an empty folder, in a locale that is not UTF-8."""
    running = []

    def popen(*arguments, **streams):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        environment = {**clean_environment, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        process = subprocess.Popen([discreet_command, "redact", *arguments], cwd=tmp_path, env=environment, **pipes)
        running.append(process)
        return process

    yield popen
    for process in running:
        process.kill()
        process.communicate()


def test_text_of_any_script_passes_in_any_locale(start):
    process = start()
    out, error = process.communicate(f"почта {EMAIL}, 謝謝\n".encode(), timeout=60)
    assert (process.returncode, out.decode(), error) == (0, "почта <EMAIL>, 謝謝\n", b"")


def test_each_json_line_is_printed_before_the_next_arrives(start):
    process = start("--jsonl")
    for number in range(3):
        process.stdin.write(json.dumps([number, EMAIL]).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == [number, "<EMAIL>"]
    process.stdin.write(b"{oops " + EMAIL.encode() + b"\n")
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, b"")
    assert (
        error
        == b"discreet: Line 4 of standard input is not one JSON value. What stood before it is redacted and printed.\n"
    )


@pytest.mark.parametrize("arguments", [(), ("--jsonl",), ("--explain",), ("--jsonl", "--explain", "--json")])
def test_a_reader_that_goes_away_ends_it_quietly(start, arguments):
    read, write = os.pipe()
    process = start(*arguments, stdout=write)
    os.close(write)
    os.close(read)
    _, error = process.communicate(f'"{EMAIL}"\n'.encode() * 3, timeout=60)
    assert (process.returncode, error) == (0, b"")


def test_explain_draws_a_table_on_a_terminal(start):
    controller, terminal = pty.openpty()
    process = start("--explain", stdout=terminal)
    os.close(terminal)
    process.communicate(EMAIL.encode(), timeout=60)
    assert process.returncode == 0
    shown = os.read(controller, 10_000).decode()
    os.close(controller)
    assert "EMAIL" in shown
    assert "│" in shown or "|" in shown
    assert EMAIL not in shown
