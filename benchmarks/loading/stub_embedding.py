"""Import this first, and the storage of the process has an embedding that costs next to nothing: we are measured, not the model."""

from __future__ import annotations

from functools import partial

from discreet.storage import open_storage
from discreet.storage.shared import process_storage
from discreet.testing import StubEmbeddings

DIMS = 384
"""As many as the local model has."""

process_storage._opener = partial(open_storage, embeddings=StubEmbeddings(DIMS))  # noqa: SLF001  # it has no other way in
