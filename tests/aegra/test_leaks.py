"""Nothing that is planted in requests, runs and streams of Aegra is anywhere afterwards, nor while they last."""

import asyncio
import threading
from collections import defaultdict
from contextlib import contextmanager

import psycopg
import pytest
from leak_suite.people import Replies
from leak_suite.plants import Plants
from leak_suite.play import Stage, receiving_hooks
from leak_suite.scenes import SCENES
from leak_suite.server import search
from own_scenes import LEFT_OUT, OTHERWISE, OWN
from psycopg import sql

LOOK_SECONDS = 0.2
AEGRAS = ("runs", "thread", "crons", "assistant", "assistant_versions")
"""Tables of Aegra's own, whose rows come and go with the runs."""


@contextmanager
def watching(server, plants):
    """Search Aegra's rows and its Redis while runs last; yield what was found, and how often was looked."""
    found, looks, over = defaultdict(set), [0], threading.Event()

    def rows():
        with psycopg.connect(server.databases[0]) as connection:
            for table in AEGRAS:
                query = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
                with connection.cursor() as cursor, cursor.copy(query) as copy:
                    yield f"table {table}", b"".join(bytes(part) for part in copy)

    def watch():
        while not over.wait(LOOK_SECONDS):
            for places in (rows(), server.redis_keys()):
                for name, where in search(places, plants).items():
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
        self.plants, self.replies = Plants(seed), Replies()
        with receiving_hooks(self.replies) as hooks, watching(server, self.plants) as (self.seen, self.looks):
            SCENES.update(OWN)
            stage = Stage(server.url, hooks, server.secret, self.plants, self.replies)
            asyncio.run(stage.play_all(tuple(scene for scene in SCENES if scene not in LEFT_OUT)))
        self.unmet = [each for each in stage.unmet if each.partition(":")[0] not in OTHERWISE]
        self.at_rest = search(server.everything(), self.plants)
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
