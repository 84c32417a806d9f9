"""Who gets indexes of their own, and who loses them."""

from __future__ import annotations

from uuid import UUID

import pytest

from discreet.storage.memories.large_users.indexes import MAX_LARGE_USERS, Index, User, changes, index_named

SPACE, OTHER = 3, 2
KEY = UUID(int=1)
PREFIX = f"memory_large_{KEY.hex}"
BOTH = {f"{PREFIX}_words": True, f"{PREFIX}_3": True}


def change(memories, found, *, settled=True):
    made = changes([User(KEY, memories, settled)], found, limit=100, space_key=SPACE)
    return made.drop, [index.name for index in made.build]


@pytest.mark.parametrize(
    ("memories", "found", "drop", "build"),
    [
        (100, {}, [], []),
        (101, {}, [], [f"{PREFIX}_words", f"{PREFIX}_3"]),
        (101, BOTH, [], []),
        (50, BOTH, [], []),
        (101, {f"{PREFIX}_words": True}, [], [f"{PREFIX}_3"]),
    ],
)
def test_indexes_come_above_the_limit_and_stay_down_to_half_of_it(memories, found, drop, build):
    assert change(memories, found) == (drop, build)


def test_who_is_not_among_the_people_loses_them():
    assert changes([], BOTH, limit=100, space_key=SPACE).drop == sorted(BOTH)


def test_what_a_killed_build_left_is_built_again():
    assert change(101, {**BOTH, f"{PREFIX}_3": False}) == ([f"{PREFIX}_3"], [f"{PREFIX}_3"])


def test_vectors_of_another_space_are_dropped_and_words_stay():
    found = {f"{PREFIX}_words": True, f"{PREFIX}_{OTHER}": True}
    assert change(101, found) == ([f"{PREFIX}_{OTHER}"], [f"{PREFIX}_3"])


def test_vectors_are_indexed_when_all_are_in_the_space():
    assert change(101, {}, settled=False) == ([], [f"{PREFIX}_words"])
    assert change(101, BOTH, settled=False) == ([], [])


def test_indexes_of_others_are_left_alone():
    found = {"memory_large_reports": True, f"{PREFIX}_2_3": False, f"{PREFIX}_": True, "memory_large_1_words": True}
    assert not changes([], found, limit=100, space_key=SPACE)


def test_so_many_people_get_some_those_of_the_most_memories():
    people = [User(UUID(int=key), 1_000 + key, settled=True) for key in range(MAX_LARGE_USERS + 1)]
    build = changes(people, {}, limit=100, space_key=SPACE).build
    assert {index.user_key for index in build} == {UUID(int=key) for key in range(1, MAX_LARGE_USERS + 1)}


@pytest.mark.parametrize("index", [Index(KEY, "words"), Index(KEY, 3)])
def test_an_index_is_known_by_its_name(index):
    assert index_named(index.name) == index
