"""A summary that is made in the turn, for a prompt that does not hold what it lacks."""

import asyncio

import pytest
from langchain_core.messages import HumanMessage

from discreet.nodes.rolling_summary import KEEP
from discreet.ports import RollingSummary


def running(build, rounds):
    return [*build.talk(rounds), HumanMessage("now", id="now")]


@pytest.mark.parametrize("rounds", [1, 6, 7, 8, 12, 43])
async def test_all_but_the_last_rounds_are_summarised(build, rounds):
    rig = build(budget=10_000)
    newest = await rig.summariser.catch_up("ann", "t", running(build, rounds))
    assert build.covered(newest) == list(range(1, rounds - KEEP + 1))
    assert newest == await rig.summariser.current("ann", "t", running(build, rounds))
    assert newest == rig.summaries.kept.get(("ann", "t"), RollingSummary())


async def test_it_goes_on_from_what_there_is_and_the_next_turns_go_on_from_it(build):
    rig = build()
    await rig.after(build.talk(5))
    await rig.summariser.catch_up("ann", "t", running(build, 13))
    assert len(rig.provider.calls) == 2
    assert build.covered(await rig.after(build.talk(14))) == [*range(1, 13)]


async def test_the_hook_hears_the_name_of_the_application(build):
    heard = []

    async def hook(*given):
        heard.append((given[2].rounds, given[3]))

    rig = build(on_commit=hook)
    await rig.summariser.catch_up("ann", "t", running(build, 8), app_name="clinic")
    assert heard == [(2, "clinic")]


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_where_the_provider_fails_or_is_too_slow_quotes_take_its_place(build, how, monkeypatch, caplog):
    monkeypatch.setattr("discreet.nodes.rolling_summary.CATCH_UP_SECONDS", 0.1)  # nobody waits for eight
    rig = build(provider=build.Numbers(gate=asyncio.Event()) if how == "hangs" else None, budget=1_000)
    rig.provider.fails = 1_000
    messages = [m.model_copy(update={"content": f"{m.content} My cat is called Mia."}) for m in build.talk(20)]
    newest = await rig.summariser.catch_up("ann", "t", [*messages, HumanMessage("now", id="now")])
    assert newest.rounds == 14
    assert "Mia" in newest.text
    assert len(rig.provider.calls) == 1  # and is not asked again
    assert "summary_provider_replaced cause=" in caplog.text
    assert "Mia" not in caplog.text


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_no_turn_waits_again_for_a_provider_that_was_just_waited_for_in_vain(build, how, monkeypatch):
    monkeypatch.setattr("discreet.nodes.rolling_summary.CATCH_UP_SECONDS", 0.1)  # as above
    rig = build(provider=build.Numbers(gate=asyncio.Event()) if how == "hangs" else None, budget=1_000)
    rig.provider.fails = 1_000
    for rounds in (9, 12, 15):
        newest = await rig.summariser.catch_up("ann", "t", running(build, rounds))
        assert newest.rounds == rounds - KEEP
    await rig.summariser.catch_up("bob", "another", running(build, 9))
    assert len(rig.provider.calls) == 1


async def test_a_provider_that_rested_is_asked_again(build, monkeypatch):
    monkeypatch.setattr("discreet.nodes.rolling_summary.RESTING_SECONDS", 0.0)  # five minutes are over at once
    rig = build(budget=1_000)
    rig.provider.fails = 1
    await rig.summariser.catch_up("ann", "t", running(build, 9))
    newest = await rig.summariser.catch_up("ann", "t", running(build, 12))
    assert build.covered(newest) == [4, 5, 6]  # the quotes of the first three say nothing
    assert len(rig.provider.calls) == 2


async def test_a_provider_that_answers_in_time_is_always_asked(build):
    rig = build(budget=1_000)
    for rounds in (9, 12, 15):
        newest = await rig.summariser.catch_up("ann", "t", running(build, rounds))
    assert build.covered(newest) == list(range(1, 15 - KEEP + 1))


async def test_it_never_raises(build):
    class Broken:
        def redact(self, text):
            raise ValueError

    rig = build(redactor=Broken())
    assert await rig.summariser.catch_up("ann", "t", running(build, 20)) == RollingSummary()
    rig = build()
    rig.summaries.is_down = True
    assert await rig.summariser.catch_up("ann", "t", running(build, 20)) == RollingSummary()
    assert await rig.summariser.catch_up("ann", None, running(build, 20)) == RollingSummary()
    assert await rig.summariser.catch_up("ann", "t", []) == RollingSummary()


async def test_messages_without_ids_have_none(build):
    rig = build()
    bare = [m.model_copy(update={"id": None}) for m in running(build, 20)]
    assert await rig.summariser.catch_up("ann", "t", bare) == RollingSummary()


async def test_rounds_that_were_taken_out_are_in_no_summary_any_more(build):
    rig = build(budget=10_000)
    await rig.summariser.catch_up("ann", "t", running(build, 20))
    without = [m for m in running(build, 20) if m.id not in {"q3", "a3"}]
    newest = await rig.summariser.catch_up("ann", "t", without)
    assert build.covered(newest) == [1, 2, *range(4, 15)]
    assert rig.summaries.kept["ann", "t"] == newest


@pytest.mark.parametrize("allowed", [True, False])
async def test_before_each_commit_it_is_asked_whether_the_rounds_still_stand(build, allowed):
    asked = []

    async def is_current(user_id, thread_id, rounds):
        asked.append((user_id, thread_id, [each.answer_id for each in rounds]))
        return allowed

    rig = build(is_current=is_current)
    kept = await rig.after(build.talk(5))
    assert asked == [("ann", "t", ["a1", "a2", "a3", "a4", "a5"])] * (2 if allowed else 1)  # and after it
    assert kept.rounds == (5 if allowed else 0)


async def test_where_nobody_can_say_whether_they_stand_nothing_is_kept(build):
    async def is_current(*_given):
        raise LookupError

    rig = build(is_current=is_current)
    assert await rig.after(build.talk(5)) == RollingSummary()
