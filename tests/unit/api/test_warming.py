"""What is loaded beside the start of a server."""

import logging

from discreet.api.warming import warm
from discreet.redaction import Redactor


def test_what_the_first_turn_needs_is_loaded(caplog):
    caplog.set_level(logging.INFO)
    warm(Redactor())
    assert "server_warmed" in caplog.text


def test_a_failure_is_told_and_stops_nothing(caplog):
    class Broken:
        def redact(self, text):
            raise OSError("of ann@example.com")

    warm(Broken())
    assert "server_not_warmed cause=OSError" in caplog.text
    assert "ann" not in caplog.text
