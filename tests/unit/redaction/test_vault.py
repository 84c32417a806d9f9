import asyncio
import logging
import threading

import pytest

from discreet.ports import TurnVault
from discreet.redaction import InMemoryTurnVault, Redactor, resolve

MAIL = "ann@example.com"
MARK = "<EMAIL:7K2QX3MD>"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def vault(clock) -> TurnVault:
    return InMemoryTurnVault(ttl=60, max_chars=1000, clock=clock)


def test_values_live_as_long_as_their_turn(vault):
    vault.hold("1", {MARK: MAIL})
    vault.hold("1", {"<PHONE:AAAAAAAA>": "0912345678"})
    assert vault.values("1") == {MARK: MAIL, "<PHONE:AAAAAAAA>": "0912345678"}
    vault.drop("1")
    assert vault.values("1") == {}
    vault.drop("1")


def test_turns_are_kept_apart(vault):
    vault.hold("1", {MARK: MAIL})
    assert vault.values("2") == {}
    vault.drop("2")
    assert vault.values("1") == {MARK: MAIL}


def test_a_placeholder_keeps_its_first_value(vault):
    vault.hold("1", {MARK: MAIL})
    vault.hold("1", {MARK: "eve@example.com"})
    assert vault.values("1") == {MARK: MAIL}


def test_nobody_changes_the_values_from_outside(vault):
    given = {MARK: MAIL}
    vault.hold("1", given)
    given[MARK] = "eve@example.com"
    vault.values("1")[MARK] = "eve@example.com"
    assert vault.values("1") == {MARK: MAIL}


def test_a_turn_expires_after_its_last_value(vault, clock):
    vault.hold("1", {MARK: MAIL})
    clock.now += 59
    vault.hold("1", {})
    clock.now += 59
    assert vault.values("1") == {MARK: MAIL}
    clock.now += 1
    assert vault.values("1") == {}


def test_the_oldest_turns_make_room(vault):
    for turn in ("1", "2", "3", "4", "5"):
        vault.hold(turn, {MARK: "x" * 200})
    assert [bool(vault.values(turn)) for turn in ("1", "2", "3", "4", "5")] == [False, True, True, True, True]


def test_a_large_turn_costs_others_nothing(vault):
    vault.hold("1", {MARK: MAIL})
    vault.hold("2", {MARK: "x" * 2000, "<PHONE:AAAAAAAA>": "1"})
    assert vault.values("2") == {"<PHONE:AAAAAAAA>": "1"}
    for number in range(100):
        vault.hold("2", {f"<PHONE:{number}>": "x" * 100})
    assert vault.values("1") == {MARK: MAIL}


def test_a_request_with_the_largest_medium_is_held_and_one_turn_is_not_all():
    vault = InMemoryTurnVault()
    vault.hold("1", {"request:input": "x" * 27_000_000, MARK: MAIL})
    assert set(vault.values("1")) == {"request:input", MARK}
    vault.hold("2", {"request:input": "x" * 30_000_001, MARK: MAIL})
    assert set(vault.values("2")) == {MARK}


def test_of_what_is_too_much_the_largest_values_go():
    vault = InMemoryTurnVault(max_chars=400)
    vault.hold("1", {"huge": "x" * 90, "large": "x" * 50, "small": "x"})
    assert set(vault.values("1")) == {"large", "small"}


async def test_both_faces_see_the_same(vault):
    await vault.ahold("1", {MARK: MAIL})
    assert await vault.avalues("1") == vault.values("1") == {MARK: MAIL}
    await vault.adrop("1")
    assert vault.values("1") == {}


def test_threads_do_not_lose_values(vault):
    vault = InMemoryTurnVault()
    start = threading.Barrier(8)

    def work(number):
        start.wait()
        for i in range(200):
            vault.hold("1", {f"<EMAIL:{number}-{i}>": MAIL})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(vault.values("1")) == 1600


def test_it_says_nothing_of_what_it_holds(vault, caplog):
    with caplog.at_level(logging.DEBUG):
        vault.hold("1", {MARK: MAIL})
        asyncio.run(vault.avalues("1"))
        vault.drop("1")
    assert [record for record in caplog.records if record.name.startswith("discreet")] == []
    assert MAIL not in caplog.text
    vault.hold("1", {MARK: MAIL})
    assert MAIL not in repr(vault) + repr(vars(vault))


def test_a_turn_from_end_to_end(vault):
    thread = Redactor(placeholder_key=bytes(32)).for_thread("t")
    text = f"Write to {MAIL}, then call 0912 345 678 or {MAIL}."
    masked = thread.mask(text)
    vault.hold("turn", masked.values)
    assert MAIL not in masked.text
    assert resolve(masked.text, vault.values("turn")) == text
    vault.drop("turn")
    assert resolve(masked.text, vault.values("turn")) == masked.text
