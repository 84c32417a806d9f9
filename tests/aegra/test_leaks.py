"""Nothing that is planted in requests, runs and streams of Aegra is anywhere afterwards, nor while they last."""

import asyncio
import threading
from collections import defaultdict
from contextlib import contextmanager
from itertools import chain

import pytest
from kit.places import rows
from kit.planter import Planter
from kit.search import search
from leak_suite.people import Replies
from leak_suite.play import Stage, receiving_hooks
from leak_suite.scenes import SCENES
from own_scenes import LEFT_OUT, OTHERWISE, OWN

LOOK_SECONDS = 0.2
AEGRAS = ("runs", "thread", "crons", "assistant", "assistant_versions")
"""Tables of Aegra's own, whose rows come and go with the runs."""


@contextmanager
def watching(server, plants):
    """Search Aegra's rows and its Redis while runs last; yield what was found, and how often was looked."""
    found, looks, over = defaultdict(set), [0], threading.Event()

    def watch():
        while not over.wait(LOOK_SECONDS):
            of_aegra = rows(server.databases[0], only=AEGRAS, may_be_empty=True)
            for name, where in search(chain(of_aegra, server.redis_keys()), plants).leaks.items():
                found[name] |= where
            looks[0] += 1

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found, looks
    finally:
        over.set()
        thread.join()


class Played:
    """What came of the scenes."""

    def __init__(self, server, seed):
        self.plants, self.replies = Planter(seed), Replies()
        with receiving_hooks(self.replies) as hooks, watching(server, self.plants) as (self.seen, self.looks):
            SCENES.update(OWN)
            stage = Stage(server.url, hooks, server.secret, self.plants, self.replies)
            asyncio.run(stage.play_all(tuple(scene for scene in SCENES if scene not in LEFT_OUT)))
        self.unmet = [each for each in stage.unmet if each.partition(":")[0] not in OTHERWISE]
        self.at_rest = search(server.everything(), self.plants).leaks
        self.in_replies = self.replies.holding(self.plants)


@pytest.fixture(scope="module")
def played(server, seed):
    """All scenes, played once."""
    return Played(server, seed)


def test_nothing_planted_is_in_a_table_a_log_a_file_or_redis(played):
    assert played.at_rest == {}


def test_nothing_planted_was_in_rows_or_in_redis_while_runs_lasted(played):
    assert played.seen == {}
    assert played.looks[0] > 20


def test_nothing_planted_is_in_an_answer_to_anybody_else_or_in_a_later_one(played):
    assert played.in_replies == {}


def test_nobody_is_let_at_what_is_anothers(played):
    given = [reply for reply in played.replies.said if reply.kind == "foreign" and reply.gives and reply.data != b"[]"]
    assert {reply.what for reply in given} == set()


def test_graphs_get_real_values_and_owners_see_them_in_live_answers(played):
    assert played.unmet == []


def test_nothing_is_sent_anywhere(played):
    assert not [reply for reply in played.replies.said if reply.what in {"webhook", "a request to LangSmith"}]


def test_the_search_had_much_to_look_at(played):
    assert len(played.plants.named) > 300
    assert len(played.replies.said) > 500
