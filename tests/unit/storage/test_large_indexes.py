"""Who gets indexes of their own, and who loses them."""

from __future__ import annotations

import pytest

from discreet.storage.large_indexes import MAX_LARGE_USERS, Index, Person, changes, index_named

SPACE, OTHER = 3, 2
BOTH = {"memory_large_1_words": True, "memory_large_1_3": True}


def change(memories, found, *, settled=True):
    made = changes([Person(1, memories, settled)], found, limit=100, space_key=SPACE)
    return made.drop, [index.name for index in made.build]


@pytest.mark.parametrize(
    ("memories", "found", "drop", "build"),
    [
        (100, {}, [], []),
        (101, {}, [], ["memory_large_1_words", "memory_large_1_3"]),
        (101, BOTH, [], []),
        (50, BOTH, [], []),
        (101, {"memory_large_1_words": True}, [], ["memory_large_1_3"]),
    ],
)
def test_indexes_come_above_the_limit_and_stay_down_to_half_of_it(memories, found, drop, build):
    assert change(memories, found) == (drop, build)


def test_who_is_not_among_the_people_loses_them():
    assert changes([], BOTH, limit=100, space_key=SPACE).drop == sorted(BOTH)


def test_what_a_killed_build_left_is_built_again():
    assert change(101, {**BOTH, "memory_large_1_3": False}) == (["memory_large_1_3"], ["memory_large_1_3"])


def test_vectors_of_another_space_are_dropped_and_words_stay():
    found = {"memory_large_1_words": True, f"memory_large_1_{OTHER}": True}
    assert change(101, found) == ([f"memory_large_1_{OTHER}"], ["memory_large_1_3"])


def test_vectors_are_indexed_when_all_are_in_the_space():
    assert change(101, {}, settled=False) == ([], ["memory_large_1_words"])
    assert change(101, BOTH, settled=False) == ([], [])


def test_indexes_of_others_are_left_alone():
    found = {"memory_large_reports": True, "memory_large_1_2_3": False, "memory_large_1_": True}
    assert not changes([], found, limit=100, space_key=SPACE)


def test_so_many_people_get_some_those_of_the_most_memories():
    people = [Person(key, 1_000 + key, settled=True) for key in range(MAX_LARGE_USERS + 1)]
    build = changes(people, {}, limit=100, space_key=SPACE).build
    assert {index.user_key for index in build} == set(range(1, MAX_LARGE_USERS + 1))


@pytest.mark.parametrize("index", [Index(12, "words"), Index(12, 3)])
def test_an_index_is_known_by_its_name(index):
    assert index_named(index.name) == index
