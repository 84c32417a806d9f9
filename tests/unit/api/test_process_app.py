"""What every server of the application looks at before it starts."""

import socket

import pytest

from discreet.api.process_app import prepare_process
from discreet.errors import ConfigurationError


def test_a_port_for_metrics_that_is_taken_is_told_before_the_storage_is_opened(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("DISCREET_METRICS_PORT", port)
        with pytest.raises(ConfigurationError, match=f"^DISCREET_METRICS_PORT={port} can't be opened"):
            prepare_process()
