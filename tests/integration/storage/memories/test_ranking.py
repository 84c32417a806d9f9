"""In what order a search returns what it finds, and what it never misses."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import combinations
from math import cos, radians, sin

import pytest

from discreet.providers import embedding_provider
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings


class Angles(StubEmbeddings):
    """Puts each text where the test wants it: at an angle, 0 unless given. The cosine is that of the difference."""

    def __init__(self, **degrees):
        super().__init__(dims=2)
        self.degrees = degrees

    def embed_query(self, text):
        angle = radians(next((angle for word, angle in self.degrees.items() if word in text), 0))
        return [cos(angle), sin(angle)]


def turn(position, text, *, said=None):
    said = said or datetime(2023, 1, 1, tzinfo=UTC)
    return MemoryRecord(text=text, type="turn", thread_id="thread", position=position, created_at=said)


def facts(*texts):
    return [MemoryRecord(text=text) for text in texts]


async def found(memories, query, **options):
    return [hit.record.text for hit in await memories.search("ann", query, **options)]


@pytest.fixture(params=["convex", "rrf"])
async def either(request, database):
    """Return the memories of a new database in both ways to rank."""
    settings = Settings(fusion=request.param)
    async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=256)) as storage:
        yield storage.memories


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("count", [1, 3, 10, 200])
async def test_a_rare_word_finds_its_memory_among_few_and_many(either, count):
    others = [f"Went to place{n} with the dog on day{n}" for n in range(count - 1)]
    await either.save("ann", facts(*others, "Owns a theremin"))
    assert (await found(either, "theremin"))[0] == "Owns a theremin"
    assert (await found(either, "Did I ever own a theremin or a dog?"))[0] == "Owns a theremin"
    assert await found(either, "theremin", threshold=1.0) == ["Owns a theremin"]


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Quimby", "Rang Mr Quimby about the fence"),
        ("flat 4711", "The code of flat 4711 is with the porter"),
        ("4711", "The code of flat 4711 is with the porter"),
        ("2019-07-30", "Moved in on 2019-07-30"),
        ("what happened in 2019?", "Moved in on 2019-07-30"),
        ("когда красить", "Надо покрасить забор, красить будем в мае"),
        ("Kazan", "Летом едем в Kazan на поезде"),
    ],
)
async def test_names_numbers_and_mixed_languages_are_found(either, query, expected):
    await either.save(
        "ann",
        facts(
            "Rang Mr Quimby about the fence",
            "The code of flat 4711 is with the porter",
            "Moved in on 2019-07-30",
            "Надо покрасить забор, красить будем в мае",
            "Летом едем в Kazan на поезде",
            "The fence is green",
        ),
    )
    assert (await found(either, query))[0] == expected
    assert expected in await found(either, query, threshold=1.0)


@pytest.mark.dialect
async def test_every_memory_with_a_word_of_the_query_is_found_whatever_the_threshold(either):
    words = ["apple", "birch", "cedar", "daisy", "elder"]
    await either.save("ann", facts(*(f"{word} {other}" for word, other in combinations(words, 2))))
    for word in words:
        hits = await found(either, f"{word} zzz yyy", threshold=1.0, limit=50)
        assert len(hits) == 4
        assert all(word in hit for hit in hits)


async def test_common_words_alone_find_by_meaning_and_a_threshold_holds_for_them(memories):
    await memories.save("ann", facts("Keeps parrots", "Likes tea"))
    assert len(await found(memories, "what is the")) == 2
    assert await found(memories, "what is the", threshold=0.9) == []


async def test_one_common_word_does_not_outweigh_meaning(database):
    embeddings = Angles(parrot=10, meeting=80)
    async with open_storage(database, embeddings=embeddings) as storage:
        await storage.memories.save("ann", facts("Has a parrot", "Home late after the meeting"))
        question = "Which colourful feathered animal lives at home?"
        assert (await found(storage.memories, question))[0] == "Has a parrot"


async def test_meaning_does_not_outweigh_most_words_of_the_question(database):
    embeddings = Angles(parrot=60, zoo=10, chess=90)
    async with open_storage(database, embeddings=embeddings) as storage:
        await storage.memories.save("ann", facts("The parrot eats green mango", "At the zoo", "Plays chess"))
        assert (await found(storage.memories, "Who eats green mango?"))[0] == "The parrot eats green mango"


async def test_a_small_difference_in_meaning_among_two_memories_is_no_large_one(database):
    embeddings = Angles(tea=70, coffee=72)
    async with open_storage(database, embeddings=embeddings) as storage:
        await storage.memories.save("ann", facts("Likes tea", "Dislikes black coffee"))
        assert (await found(storage.memories, "What about black things, then, in general?"))[
            0
        ] == "Dislikes black coffee"


async def test_who_is_named_is_who_speaks(memories):
    await memories.save("ann", [turn(0, "Nate: Joanna, I bought a lamp"), turn(1, "Joanna: Nate, I bought a lamp")])
    assert (await found(memories, "What did Joanna buy?"))[0].startswith("Joanna")
    assert (await found(memories, "what did nate buy?"))[0].startswith("Nate")


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "question", ["Where did I go in May?", "Куда я ездил в мае 2023?", "Tháng 5 tôi đi đâu?", "我五月去了哪里？"]
)
async def test_what_was_said_in_the_month_asked_for_comes_first(either, question):
    months = [datetime(2023, month, 8, tzinfo=UTC) for month in range(1, 13)]
    await either.save("ann", [turn(at * 9, f"Went to lake{at}", said=said) for at, said in enumerate(months)])
    assert (await found(either, question))[0] == "Went to lake4"


async def test_a_month_or_a_speaker_is_no_word_that_passes_a_threshold(memories):
    await memories.save("ann", [turn(0, "Went to the lake", said=datetime(2023, 5, 8, tzinfo=UTC))])
    assert await found(memories, "Anything of May 2023?", threshold=1.0) == []
    assert await found(memories, "Anything of May 2023?") == ["Went to the lake"]


async def test_an_answer_two_turns_after_its_question_is_found_by_the_words_of_the_question(memories):
    spoken = ["Which animals do you keep?", "Let me think", "Zwei Graupapageien", "Aha", "Plays chess", "Tennis too"]
    await memories.save("ann", [turn(at, text) for at, text in enumerate(spoken)])
    assert set((await found(memories, "animals"))[:3]) == set(spoken[:3])


async def test_memories_apart_from_conversations_are_ranked_with_turns(memories):
    await memories.save("ann", [turn(0, "Shall we talk about birds?"), turn(1, "Gladly"), *facts("Keeps two birds")])
    assert (await found(memories, "two birds"))[0] == "Keeps two birds"


@pytest.mark.slow
async def test_the_shipped_model_finds_misspelt_words_and_other_languages_among_few_memories(database):
    async with open_storage(database, embeddings=embedding_provider("local")) as storage:
        await storage.memories.save(
            "ann", facts("Is allergic to penicillin", "Работает медсестрой в больнице", "养了两只猫", "Plays the cello")
        )
        assert (await found(storage.memories, "penicilin alergy"))[0] == "Is allergic to penicillin"
        assert (await found(storage.memories, "What is my job?"))[0] == "Работает медсестрой в больнице"
        assert (await found(storage.memories, "Tôi nuôi con gì?"))[0] == "养了两只猫"
        assert (await found(storage.memories, "на каком инструменте я играю?"))[0] == "Plays the cello"
