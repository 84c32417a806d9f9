"""Who waits for a server to start is not kept waiting for the recognisers."""

from uuid import uuid4

import pytest

from discreet.api.headers import clean_headers
from discreet.api.ingress.queries import checked_line
from discreet.api.ingress.routes import OPEN_PATHS


class Unloaded:
    """A redactor that must not be asked."""

    def redact(self, text):
        raise AssertionError(text)


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
def test_a_path_that_everybody_may_see_needs_no_redactor(path):
    assert checked_line(path, b"", Unloaded()) == b""


def test_nor_does_a_random_request_id():
    headers = [(b"x-request-id", str(uuid4()).encode()), (b"accept", b"*/*")]
    assert clean_headers(headers, Unloaded()) == headers
