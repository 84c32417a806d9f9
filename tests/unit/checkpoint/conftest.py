"""A redactor that knows one word."""

from __future__ import annotations

import re

import pytest

from discreet.checkpoint import REDACT, CheckpointPolicy


class OneWordRedactor:
    def redact(self, text: str) -> str:
        return re.sub(r"anna@example\.com", "<EMAIL>", text)


@pytest.fixture
def policy() -> CheckpointPolicy:
    return CheckpointPolicy(channels={"locale": REDACT}, redactor=OneWordRedactor())
