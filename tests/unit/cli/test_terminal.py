"""Texts of others on a terminal."""

import pytest

from discreet.cli.terminal import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b]0;title\x07", "[31mred]0;title"),
        ("left\u202eright", "leftright"),
        ("[bold]x[/bold]", r"\[bold]x\[/bold]"),
        ("Xin chào,\n\t你好 👨\u200d👩", "Xin chào,\n\t你好 👨\u200d👩"),
    ],
)
def test_what_somebody_said_moves_no_cursor(text, shown):
    assert plain(text) == shown
