"""CONTRIBUTING.md, followed to the letter in a copy of the package: a new language and a new recogniser."""

import json
import os
import random
import re
import shutil
import string
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.card import has_check_digit

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(
    r"^(?:Write `(?P<new>[^`\n]+)`|In (?:`(?P<old>[^`\n]+)`|the file of each language), behind the line `(?P<line>[^`\n]+)`, add):\n\n"
    r"```[a-z]+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
ROOMS = ("state", "prompts", "nodes", "graph")
"""Folders at the top of the repository that are installed as parts of the package."""
COPIED = ("redaction", "testing")
"""Parts of the package that the document changes."""
CHANCE = random.Random("contributions")

LOOK = """
import json, sys
from discreet.redaction import Redactor
from discreet.testing import hostile_texts

redactor = Redactor()
hostile = redactor.redact(hostile_texts(2_000)["library cards"])
print(json.dumps({
    "redacted": [redactor.redact(text) for text in json.load(sys.stdin)],
    "hostile": [hostile, redactor.redact(hostile)],
}))
"""


class Followed(NamedTuple):
    """The copy with all that the document says in it, and what a process that runs it says."""

    folder: Path
    redacted: dict[str, str]
    said: dict[str, object]


def password():
    return "Tu" + "".join(CHANCE.choices(string.ascii_lowercase, k=6)) + "".join(CHANCE.choices("23456789", k=2))


def library_card(*, is_valid):
    body = "2" + "".join(CHANCE.choices("0123456789", k=12))
    return next(body + last for last in "0123456789" if has_check_digit(body + last) == is_valid)


PASSWORD = password()
CZECH = f"heslo je {PASSWORD}, díky"
CARD = f"my library card is {library_card(is_valid=True)}, thanks"
NEAR_MISS = f"my library card is {library_card(is_valid=False)}, thanks"


def blocks():
    return list(BLOCK.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))


def copy_of_the_package(folder):
    """Make a copy in which only what may be changed is copied, and the rest is linked."""
    package = folder / "src" / "discreet"
    package.mkdir(parents=True)
    without = shutil.ignore_patterns("__pycache__")
    for path in (ROOT / "src" / "discreet").iterdir():
        if path.name in COPIED:
            shutil.copytree(path, package / path.name, ignore=without)
        elif path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    for room in ROOMS:
        (package / room).symlink_to(ROOT / room)
    for path in ("tests/unit/redaction/test_words.py",):
        (folder / path).parent.mkdir(parents=True)
        shutil.copy(ROOT / path, folder / path)


def follow(folder):
    """Do what the document says, in `folder`."""
    for block in blocks():
        if block["new"]:
            path = inside(folder, block["new"])
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")
        elif block["old"]:
            add_behind(inside(folder, block["old"]), block["line"], block["text"])
        else:
            for line in block["text"].splitlines(keepends=True):
                _, code = line.rsplit("  # ", 1)
                path = inside(folder, f"src/discreet/redaction/words/{code.strip()}.toml")
                add_behind(path, block["line"], line)


def inside(folder, path):
    assert folder.resolve() in (folder / path).resolve().parents, f"{path} is not copied"
    return folder / path


def add_behind(path, line, text):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (place,) = [number for number, each in enumerate(lines, 1) if each.strip() == line]
    lines.insert(place, text)
    path.write_text("".join(lines), encoding="utf-8")


def run(folder, *arguments, said=""):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        input=said,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contribution")
    copy_of_the_package(folder)
    follow(folder)
    texts = [CZECH, CARD, NEAR_MISS]
    done = run(folder, "-c", LOOK, said=json.dumps(texts))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return Followed(folder, dict(zip(texts, said["redacted"], strict=True)), said)


@pytest.mark.slow
def test_a_password_told_in_the_new_language_is_hidden(followed):
    assert Redactor().redact(CZECH) == CZECH
    assert followed.redacted[CZECH] == CZECH.replace(PASSWORD, "<SECRET>")


@pytest.mark.slow
def test_the_new_type_is_masked_and_what_is_almost_of_it_is_not(followed):
    assert Redactor().redact(CARD) == CARD
    assert re.fullmatch("my library card is <LIBRARY_CARD>, thanks", followed.redacted[CARD])
    assert followed.redacted[NEAR_MISS] == NEAR_MISS


@pytest.mark.slow
def test_the_hostile_text_stays_as_it_is_once_it_is_redacted(followed):
    once, twice = followed.said["hostile"]
    assert once.startswith("library card ")
    assert twice == once


@pytest.mark.slow
def test_the_tests_that_the_document_writes_and_names_pass_for_what_it_adds(followed):
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".")
    added = "cs or library or languages_are_these or lists_of_english"
    outcome = run(followed.folder, "-m", "pytest", *options, "-k", added, "tests")
    assert outcome.returncode == 0, outcome.stdout[-3000:]
    assert "passed" in outcome.stdout


@pytest.mark.slow
def test_the_rows_that_the_document_writes_can_be_read(followed):
    (path,) = (block["new"] for block in blocks() if block["new"] and block["new"].startswith("benchmarks/"))
    rows = tomllib.loads((followed.folder / path).read_text(encoding="utf-8"))["row"]
    assert {row["lang"] for row in rows} == {"cs"}
    assert [bool(re.search("\u27e6.+\u27e7", row["text"])) for row in rows] == [True, False]


def test_every_block_of_the_document_is_followed():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(blocks()) == len(re.findall(r"^```[a-z]+$", text, re.MULTILINE))
    assert len({block["new"] or (block["old"], block["line"]) for block in blocks()}) == len(blocks())
