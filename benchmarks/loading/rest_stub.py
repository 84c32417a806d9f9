"""What `discreet serve` runs, with the stubbed embedding."""

from __future__ import annotations

import loading.stub_embedding  # noqa: F401  # before anything opens the storage

from discreet.api.standalone import app

__all__ = ["app"]
