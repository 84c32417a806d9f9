import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.providers import tokens
from discreet.providers.tokens import count_tokens, encoding_of, estimate_tokens, token_counter
from discreet.testing.hostile_texts import REPEATED

PROSE = {
    # The counts of o200k_base and cl100k_base, the same in three independent tokenizers.
    "hello world": (2, 2),
    "Tôi thích uống trà.": (6, 11),
    "Я люблю чай.": (4, 7),
    "我喜欢喝茶。": (5, 10),
    "": (0, 0),
    "\0": (1, 1),
}


@pytest.mark.parametrize(("text", "counts"), PROSE.items())
def test_counts_are_those_of_the_models_vocabulary(text, counts):
    assert (count_tokens(text), token_counter("openai:gpt-4")(text)) == counts


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        (None, "o200k_base"),
        ("openai:gpt-4o-mini", "o200k_base"),
        ("openai:gpt-4.1", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("anthropic:claude-sonnet-4", "o200k_base"),
        ("offline", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("openai:gpt-4-turbo", "cl100k_base"),
        ("azure:GPT-35-turbo", "cl100k_base"),
        ("openai:ft:gpt-3.5-turbo:acme", "cl100k_base"),
    ],
)
def test_the_models_name_chooses_the_vocabulary(model, encoding):
    assert encoding_of(model) == encoding


@pytest.mark.parametrize("unit", REPEATED.values(), ids=REPEATED.keys())
def test_hostile_texts_are_counted(unit):
    text = (unit * 100_000)[:100_000]
    assert 0 < count_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_a_lone_surrogate_counts_as_the_replacement_character():
    assert count_tokens("a\ud800b") == count_tokens("a\ufffdb")
    assert estimate_tokens("\ud800") == 1


def test_what_looks_like_a_special_token_is_counted_as_text():
    assert count_tokens("<|endoftext|>") > 1


@given(st.text())
def test_no_text_takes_more_tokens_than_bytes(text):
    assert (text != "") <= count_tokens(text) <= len(text.encode())


def test_many_threads_load_the_vocabulary_once(monkeypatch):
    monkeypatch.setattr(tokens, "_loaded", {})
    loads, load = [], tokens._load
    monkeypatch.setattr(tokens, "_load", lambda encoding: loads.append(encoding) or load(encoding))
    start = threading.Barrier(8)

    def count(_):
        start.wait()
        return count_tokens("hello world")

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(count, range(8))) == {2}
    assert loads == ["o200k_base"]


def test_without_the_library_counts_are_estimated(monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr(tokens, "_loaded", {})
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    monkeypatch.setitem(sys.modules, "rs_bpe", None)
    assert count_tokens("hello world") == 3
    assert count_tokens("hello world") == 3
    assert caplog.messages == ["tokenizer_missing counts=estimated"]


@pytest.mark.parametrize("text", [text * 20 for text in PROSE if len(text) > 5])
def test_estimates_are_no_lower_than_three_quarters_of_the_count(text):
    assert count_tokens(text) * 0.75 <= estimate_tokens(text) <= count_tokens(text) * 2.1


@pytest.mark.slow
def test_importing_the_module_does_not_load_the_library():
    check = "import sys, discreet.providers.tokens; sys.exit('rs_bpe' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
