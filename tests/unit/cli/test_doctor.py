"""What a person sees of the doctor's checks."""

from io import StringIO

from rich.console import Console

from discreet.cli.checks import Check
from discreet.cli.doctor import _table


def test_brackets_in_what_is_said_are_shown():
    checks = [Check("credentials", "fail", 'Write ["one", "two"]'), Check("redis", "ok", "[bold]")]
    shown = StringIO()
    Console(file=shown, width=80).print(_table(checks))
    lines = [line.split() for line in shown.getvalue().splitlines()]
    assert lines == [["fail", "credentials", "Write", '["one",', '"two"]'], ["ok", "redis", "[bold]"]]
