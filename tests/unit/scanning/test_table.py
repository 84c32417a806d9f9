import pytest
from testkit.scan_reports import REPORTS, report_of, table_of, usual, worst

from discreet.cli.scan_table import print_report


@pytest.fixture
def printed(capsys, monkeypatch):
    def printed(report, columns=120):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_report(report)
        return capsys.readouterr().out

    return printed


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_it_says_what_sits_where(printed):
    lines = lines_of(printed(usual()))
    assert "channel values public.checkpoint_blobs 1,200 9.0 MB 34,547 14" in lines
    assert "EMAIL public.checkpoint_blobs 21,320 21,320 3" in lines
    assert "public.checkpoint_writes 4,240 4,240 3" in lines
    assert "model messages 30,120" in lines
    assert "prunable 11.9 GB, 94 %" in lines
    assert "oldest 2025-01-13 09:30 UTC" in lines
    assert "large: 000000000000 240.0 MB, 1,000 checkpoints" in lines


def test_it_names_columns_and_keys(printed):
    places = {"value.user.mail": {"EMAIL": 3, "PHONE": 1}, "value.notes[]": {"CARD": 1_200}}
    lines = lines_of(printed(report_of(table_of("store", places=places))))
    at = lines.index("table column and keys values")
    assert lines[at + 1 : at + 3] == [
        "public.store value.notes[] 1,200 CARD",
        "public.store value.user.mail 3 EMAIL, 1 PHONE",
    ]


def test_it_ends_with_what_to_do(printed):
    *_, result, last = lines_of(printed(usual()))
    assert result == "41,203 sensitive values in 3 of 6 tables of db.example.com/agents."
    assert last.startswith("Next: discreet scrub --dry-run")
    assert "--prune" in last
    nothing = lines_of(printed(report_of(table_of("store", in_ids={"EMAIL": 4}))))
    assert "rows/s" in nothing[-3]
    assert [nothing[-4], *nothing[-2:]] == [
        "4 of the values are in ids and can't be rewritten.",
        "4 sensitive values in 1 of 1 table of db.example.com/agents.",
        "There is nothing for discreet scrub to take out.",
    ]


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(printed, name, columns):
    tables, _, _ = printed(REPORTS[name](), columns).partition("Not scanned")
    assert all(len(line) <= columns or line.endswith(".") for line in tables.splitlines())


def test_names_of_a_foreign_database_command_no_terminal(printed):
    text = printed(worst(), 200)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[31m[bold]" in text


def test_of_very_many_lines_the_first_are_shown(printed):
    assert "… and 1,460 more" in printed(worst(), 200)
