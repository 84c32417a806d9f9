import json

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cli.explain import findings
from discreet.cli.redact import WHOLE_CHARS, streamed
from discreet.errors import InputError, InvalidJsonLineError, UndecodableInputError
from discreet.redaction import Redactor

EMAIL = "ann@example.com"
PHONE = "+1 202 456 1111"
KEY = "sk-" + "a1" * 20
PEM = "\n".join([f"-----{'BEGIN'} PRIVATE KEY-----", *["Ab0+" * 16] * 20, "-----END PRIVATE KEY-----"])
PROSE = "The parrots were loud again this morning, and nobody knew why.\n"


def run(*arguments, stdin=""):
    return CliRunner().invoke(app, ["redact", *map(str, arguments)], input=stdin)


def lines(*values):
    return "".join(f"{json.dumps(value)}\n" for value in values)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("stdin", "stdout"),
    [
        ("", ""),
        ("nothing here\r\n\r\nat all", "nothing here\r\n\r\nat all"),
        (f"mail {EMAIL}\nor call {PHONE}\n", "mail <EMAIL>\nor call <PHONE>\n"),
        (f"before\n{PEM}\nafter\n", "before\n<SECRET>\nafter\n"),
        (f"信箱{EMAIL}謝謝", "信箱<EMAIL>謝謝"),
        (f"почта {EMAIL}, пароль: {KEY}", "почта <EMAIL>, пароль: <SECRET>"),
    ],
)
def test_text_comes_out_as_it_was_with_placeholders(stdin, stdout):
    result = run(stdin=stdin)
    assert result.exit_code == 0
    assert result.stdout_bytes.decode() == stdout


@pytest.mark.slow
def test_files_are_read_one_after_the_other_and_a_dash_is_standard_input(tmp_path):
    (tmp_path / "one").write_text(f"one {EMAIL}\n")
    (tmp_path / "two").write_text(f"two {PHONE}\n")
    result = run(tmp_path / "one", "-", tmp_path / "two", stdin="between\n")
    assert result.stdout == "one <EMAIL>\nbetween\ntwo <PHONE>\n"


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [800, 1_700, 4_000])
def test_a_text_beyond_the_limit_is_redacted_and_not_given_up(repeats):
    text = f"{PROSE * repeats}mail {EMAIL}\n{PROSE * repeats}{PEM}\n{PROSE}"
    assert len(text) > WHOLE_CHARS
    result = run(stdin=text)
    assert result.stdout == f"{PROSE * repeats}mail <EMAIL>\n{PROSE * repeats}<SECRET>\n{PROSE}"


@pytest.mark.slow
def test_short_values_all_over_a_long_text_do_not_make_it_too_long_for_the_redactor():
    text = "x@a.io " * (WHOLE_CHARS // 7)
    assert "".join(streamed([text], Redactor())) == "<EMAIL> " * (WHOLE_CHARS // 7)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("before", ["", "a", "é" * 40_000, PROSE * 3_000])
def test_bytes_that_are_not_utf8_are_named_by_their_offset(before, tmp_path):
    (tmp_path / "file").write_bytes(before.encode() + b"\xff" + EMAIL.encode())
    result = run(tmp_path / "file")
    assert isinstance(result.exception, UndecodableInputError)
    assert result.exception.offset == len(before.encode())
    assert EMAIL not in result.stdout + str(result.exception)


def test_a_text_that_ends_within_a_character_is_an_error(tmp_path):
    (tmp_path / "file").write_bytes("abc é".encode()[:-1])
    assert run(tmp_path / "file").exception.offset == 4


def test_a_file_that_is_not_there_is_an_error_after_those_before_it(tmp_path):
    (tmp_path / "one").write_text(EMAIL)
    result = run(tmp_path / "one", tmp_path / "two")
    assert isinstance(result.exception, InputError)
    assert "two can't be read" in str(result.exception)
    assert result.stdout == "<EMAIL>"


def test_json_lines_are_redacted_in_values_keys_and_numbers_at_every_depth():
    given = {"to": [EMAIL, {"deep": [f"call {PHONE}"]}], EMAIL: 4111111111111111, "n": [1, 2.5, None, True]}
    result = run("--jsonl", stdin=lines(given, EMAIL, [], 7))
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"to": ["<EMAIL>", {"deep": ["call <PHONE>"]}], "<EMAIL>": "<CARD>", "n": [1, 2.5, None, True]},
        "<EMAIL>",
        [],
        7,
    ]


def test_json_lines_keep_scripts_readable_empty_lines_and_a_byte_order_mark_apart():
    result = run("--jsonl", stdin='\ufeff{"a": "謝謝"}\r\n\n  \n"\\ud800"')
    assert result.stdout == '{"a": "謝謝"}\n\n\n"\ufffd"\n'


@pytest.mark.slow
def test_a_long_string_in_a_json_line_is_redacted_and_not_given_up():
    text = PROSE * 3_000 + EMAIL
    assert json.loads(run("--jsonl", stdin=lines(text)).stdout) == PROSE * 3_000 + "<EMAIL>"


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize(
    "bad", [f"{{oops {EMAIL}", f'"a" "{EMAIL}"', "[" * 100_000, "9" * 5_000, f"{EMAIL}", "'single'"]
)
@pytest.mark.parametrize("option", [(), ("--explain", "--json")])
def test_a_line_that_is_not_json_is_named_after_those_before_it_and_not_printed(bad, option):
    result = run("--jsonl", *option, stdin=f"{lines(EMAIL)}\n{bad}\n{lines(PHONE)}")
    assert isinstance(result.exception, InvalidJsonLineError)
    assert result.exception.line == 3
    assert result.exception.__suppress_context__
    assert "EMAIL" in result.stdout
    assert EMAIL not in result.stdout + str(result.exception)
    assert "PHONE" not in result.stdout


def test_a_json_line_that_is_not_utf8_is_named_by_its_offset_in_the_file(tmp_path):
    (tmp_path / "file").write_bytes(b'"one"\n"\xff"\n')
    result = run("--jsonl", tmp_path / "file")
    assert result.exception.offset == 7
    assert result.stdout == '"one"\n'


def test_explain_tells_types_and_places_but_no_values():
    text = f"mail {EMAIL}\nkey {KEY}"
    result = run("--explain", stdin=text)
    start = text.index(KEY)
    assert result.stdout == f"EMAIL\t5\t20\nSECRET\t{start}\t{start + len(KEY)}\n"


def test_explain_counts_code_points_of_the_input():
    text = f"🦜\0é\0 {EMAIL[:3]}\0{EMAIL[3:]} {PHONE}"
    found = [json.loads(line) for line in run("--explain", "--json", stdin=text).stdout.splitlines()]
    assert [text[each["start"] : each["end"]].replace("\0", "") for each in found] == [EMAIL, PHONE]


def test_explain_says_in_which_file_line_and_path_and_shows_no_keys_that_are_values(tmp_path):
    path = tmp_path / "file"
    path.write_text("\n" + lines({"to": [7, EMAIL], EMAIL: {"odd key\n": 4111111111111111}}))
    result = run("--jsonl", "--explain", "--json", path)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"file": str(path), "line": 2, "path": '$["<EMAIL>"]~', "type": "EMAIL", "start": 0, "end": 15},
        {"file": str(path), "line": 2, "path": "$.to[1]", "type": "EMAIL", "start": 0, "end": 15},
        {"file": str(path), "line": 2, "path": '$["<EMAIL>"]["odd key\\n"]', "type": "CARD", "start": 0, "end": 16},
    ]


def test_explain_tells_what_only_its_key_gives_away_and_what_is_not_text():
    password = "hunter" + "2!"
    given = json.loads(
        lines({"password": password, "n": 4111111111111111.0, "media": "data:image/gif;base64," + "R0lGODlhAQAB"})
    )
    found = [json.loads(line) for line in run("--jsonl", "--explain", "--json", stdin=lines(given)).stdout.splitlines()]
    assert [(each["path"], each["type"], each["start"], each["end"]) for each in found] == [
        ("$.password", "SECRET", 0, len(password)),
        ("$.n", "CARD", 0, 16),
        ("$.media", "BYTES", 0, len(given["media"])),
    ]


def test_explain_tells_what_lies_too_deep_to_be_searched():
    deep = EMAIL
    for _ in range(60):
        deep = [deep]
    (found,) = map(json.loads, run("--jsonl", "--explain", "--json", stdin=lines(deep)).stdout.splitlines())
    assert found == {"line": 1, "path": "$" + "[0]" * 50, "type": "UNKNOWN", "start": 0, "end": 0}
    assert EMAIL not in run("--jsonl", stdin=lines(deep)).stdout


def test_explain_has_nothing_to_say_about_characters_that_cant_be_stored():
    assert run("--jsonl", "--explain", stdin='["\\ud800 and \\u0000", 1.0, true, null]\n').stdout == ""


def test_settings_apply_and_no_key_is_made(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_UNMASKED_TYPES", '["PHONE"]')
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    assert run(stdin=f"{EMAIL} or {PHONE}").stdout == f"<EMAIL> or {PHONE}"
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [700, 790, 791, 1_500, 4_000])
def test_explain_finds_each_value_of_a_long_text_once(repeats):
    text = f"{PROSE * repeats}{EMAIL}\n{PEM}\n{PHONE}\n{PROSE * repeats}{EMAIL}"
    found = findings(text, Redactor())
    assert [(each.type, text[each.start : each.end]) for each in found] == [
        ("EMAIL", EMAIL),
        ("SECRET", PEM),
        ("PHONE", PHONE),
        ("EMAIL", EMAIL),
    ]


def test_json_without_explain_is_refused_since_it_could_be_meant_as_input():
    assert run("--json", stdin="{}").exit_code == 2
