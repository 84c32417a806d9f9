import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph

from discreet.background_loop import wait_for
from discreet.errors import StorageUnavailableError
from discreet.metrics import conversation_rounds, summaries, summary_failures, unsummarised_rounds
from discreet.nodes.node import Node
from discreet.nodes.rolling_summary import remember_summary
from discreet.ports import RollingSummary
from discreet.redaction import Redactor
from discreet.state.conversation import ConversationState
from discreet.state.records import MAX_MEMORY_CHARS, MemoryFilters
from discreet.testing import InMemoryMemories


def failures(cause):
    return summary_failures.labels(cause)._value.get()


class Saying:
    """A provider that says one thing."""

    def __init__(self, text):
        self.text = text

    async def summarize(self, rounds, *, earlier="", max_tokens=200):
        return self.text


async def test_every_five_rounds_the_next_five_are_added(build):
    rig = build()
    assert await rig.after(build.talk(4)) == RollingSummary()
    assert await rig.after(build.talk(5)) == RollingSummary(text="1 2 3 4 5", rounds=5, last_message_id="a5")
    for rounds in range(6, 10):
        assert (await rig.after(build.talk(rounds))).rounds == 5
    tenth = await rig.after(build.talk(10))
    assert tenth == RollingSummary(text="1 2 3 4 5\n6 7 8 9 10", rounds=10, last_message_id="a10")
    assert len(rig.provider.calls) == 2
    assert rig.provider.calls[1][1] == "1 2 3 4 5"  # the summary so far, for context


async def test_a_long_thread_is_caught_up_with_over_its_turns(build):
    rig = build()
    assert (await rig.after(build.talk(33))).rounds == 20
    assert build.covered(await rig.after(build.talk(34))) == list(range(1, 31))


async def test_current_is_the_summary_of_this_conversation(build):
    rig = build()
    await rig.after(build.talk(12))
    running = [*build.talk(12), HumanMessage("now", id="now")]
    assert build.covered(await rig.summariser.current("ann", "t", running)) == list(range(1, 11))
    assert await rig.summariser.current("bob", "t", running) == RollingSummary()
    assert await rig.summariser.current("ann", "other", running) == RollingSummary()
    assert await rig.summariser.current("ann", None, running) == RollingSummary()


async def test_a_thread_without_a_user_has_one_too(build):
    rig = build()
    assert build.covered(await rig.after(build.talk(5), user=None)) == [1, 2, 3, 4, 5]


async def test_a_run_without_a_thread_has_none(build):
    rig = build()
    await rig.after(build.talk(5), thread=None)
    assert rig.summaries.kept == {}


async def test_messages_without_ids_are_not_summarised(build):
    rig = build()
    assert await rig.after([m.model_copy(update={"id": None}) for m in build.talk(5)]) == RollingSummary()
    assert rig.provider.calls == []


async def test_above_the_budget_the_whole_is_made_shorter(build):
    rig = build(budget=21)
    assert (await rig.after(build.talk(10))).text == "1 2 3 4 5\n6 7 8 9 10"
    whole = await rig.after(build.talk(15))
    rounds, earlier, max_tokens = rig.provider.calls[-1]
    assert (rounds, earlier, max_tokens) == ((), "1 2 3 4 5\n6 7 8 9 10\n11 12 13 14 15", 21)
    assert len(whole.text) <= 21  # this provider can't get below it
    assert whole.rounds == 15


async def test_what_is_still_too_long_is_cut_at_the_end_of_a_sentence(build):
    class Wordy(build.Numbers):
        async def summarize(self, rounds, *, earlier="", max_tokens=200):
            return "A first sentence. A second one. " + "And a third. " * 20

    rig = build(provider=Wordy(), budget=40)
    assert (await rig.after(build.talk(5))).text == "A first sentence. A second one."


@pytest.mark.parametrize("forked_at", [2, 5, 7])
async def test_the_summary_of_another_branch_is_not_shown_and_made_anew(build, forked_at):
    rig = build()
    await rig.after(build.talk(10))
    forked = [*build.talk(forked_at), *build.talk(11, branch="b", start=forked_at + 1)]
    assert await rig.summariser.current("ann", "t", forked) == RollingSummary()
    anew = await rig.after(forked)
    assert (build.covered(anew), anew.last_message_id) == (list(range(1, 11)), "ba10")
    assert (await rig.summariser.current("ann", "t", forked)) == anew
    assert await rig.summariser.current("ann", "t", build.talk(10)) == RollingSummary()


async def test_a_fork_behind_the_cursor_keeps_the_summary(build):
    rig = build()
    before = await rig.after(build.talk(7))
    forked = [*build.talk(6), *build.talk(9, branch="b", start=7)]
    assert await rig.summariser.current("ann", "t", forked) == before


@pytest.mark.parametrize("left", [[*range(3, 11)], [1, 2, 3], [1, 2, 3, 4, 6, 7, 8, 9, 10]])
async def test_after_messages_were_deleted_the_rest_is_summarised_anew(build, left):
    rig = build()
    await rig.after(build.talk(10))
    rest = [m for n in left for m in build.talk(n, start=n)]
    assert await rig.summariser.current("ann", "t", rest) == RollingSummary()
    longer = [*rest, *build.talk(14, start=11)]
    anew = await rig.after(longer)
    expected = [*left, 11, 12, 13, 14][: anew.rounds]
    assert (build.covered(anew), anew.rounds % 5) == (expected, 0)
    assert anew.rounds >= 5


async def test_a_failing_provider_costs_the_summary_until_the_next_turn(build, caplog):
    rig = build()
    rig.provider.fails = 1
    before, triggered = failures("ProviderError"), summaries._value.get()
    assert await rig.after(build.talk(5)) == RollingSummary()
    assert failures("ProviderError") == before + 1
    assert "rolling_summary_failed cause=ProviderError thread=t rounds=5" in caplog.text
    assert "q1" not in caplog.text
    assert build.covered(await rig.after(build.talk(6))) == [1, 2, 3, 4, 5]
    assert summaries._value.get() == triggered + 2


async def test_a_storage_that_is_down_costs_the_summary_only(build, caplog):
    rig = build()
    await rig.after(build.talk(5))
    rig.summaries.is_down = True
    before = failures("StorageUnavailableError")
    assert await rig.summariser.current("ann", "t", build.talk(5)) == RollingSummary()
    await rig.after(build.talk(10))
    assert failures("StorageUnavailableError") == before + 2
    assert caplog.text.count("rolling_summary_failed cause=StorageUnavailableError thread=t") == 2
    rig.summaries.is_down = False
    assert build.covered(await rig.after(build.talk(10))) == list(range(1, 11))


async def test_a_storage_that_hangs_is_not_waited_for(build, monkeypatch):
    class Hanging(build.Summaries):
        async def get(self, *_args):
            await asyncio.Event().wait()

    monkeypatch.setattr("discreet.nodes.rolling_summary.READ_SECONDS", 0.01)
    rig = build(summaries=Hanging())
    assert await rig.summariser.current("ann", "t", build.talk(5)) == RollingSummary()


async def test_a_hanging_provider_does_not_hold_the_turn_and_is_given_up(build):
    rig = build(provider=build.Numbers(gate=asyncio.Event()), timeout=0.01)
    before = failures("TimeoutError")
    await rig.summariser.after_turn("ann", "t", build.talk(5))
    assert failures("TimeoutError") == before  # it came back before the provider did
    await rig.summariser.drain()
    assert failures("TimeoutError") == before + 1
    assert (await build(summaries=rig.summaries).after(build.talk(5))).rounds == 5


async def test_in_the_foreground_the_turn_waits_for_the_summary(build):
    rig = build(background=False)
    await rig.summariser.after_turn("ann", "t", build.talk(5))
    assert rig.summaries.kept["ann", "t"].rounds == 5


async def test_in_the_foreground_a_provider_that_ignores_its_end_is_not_waited_for(build):
    ended, let_go = asyncio.Event(), asyncio.Event()

    class Stubborn(build.Numbers):
        async def summarize(self, rounds, *, earlier="", max_tokens=200):
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
                await let_go.wait()

    rig = build(provider=Stubborn(), background=False, timeout=0.01)
    await rig.summariser.after_turn("ann", "t", build.talk(5))
    await ended.wait()
    assert rig.summaries.kept == {}
    let_go.set()
    await rig.summariser.drain()


async def test_a_turn_that_ends_while_its_thread_is_summarised_is_taken_up_by_the_next(build):
    rig = build(provider=build.Numbers(gate=asyncio.Event()))
    await rig.summariser.after_turn("ann", "t", build.talk(5))
    await rig.provider.asked.wait()
    await rig.summariser.after_turn("ann", "t", build.talk(9))
    await rig.summariser.after_turn("ann", "t", build.talk(10))
    assert len(rig.provider.calls) == 1
    rig.provider.gate.set()
    await rig.summariser.drain()
    await rig.summariser.after_turn("ann", "t", build.talk(11))
    await rig.summariser.drain()
    assert build.covered(rig.summaries.kept["ann", "t"]) == list(range(1, 11))


async def test_only_so_many_threads_are_summarised_at_once(build, caplog):
    rig = build(provider=build.Numbers(gate=asyncio.Event()), max_running=2)
    before = failures("Busy")
    for thread in ("one", "two", "three"):
        await rig.summariser.after_turn("ann", thread, build.talk(5))
    assert failures("Busy") == before + 1
    assert "rolling_summary_failed cause=Busy thread=three rounds=5" in caplog.text
    rig.provider.gate.set()
    await rig.summariser.drain()
    assert {thread for _, thread in rig.summaries.kept} == {"one", "two"}
    assert (await rig.after(build.talk(6), thread="three")).rounds == 5


async def test_a_loser_throws_its_work_away_and_goes_on_from_the_winners(build):
    one = build()
    two = build(summaries=one.summaries)
    one.provider.gate = asyncio.Event()
    before = failures("LostRace")
    await one.summariser.after_turn("ann", "t", build.talk(10))
    await one.provider.asked.wait()
    assert (await two.after(build.talk(5))).rounds == 5
    one.provider.gate.set()
    await one.summariser.drain()
    assert failures("LostRace") == before + 1
    assert build.covered(one.summaries.kept["ann", "t"]) == list(range(1, 11))


async def test_a_loser_leaves_a_winner_alone_that_saw_more(build):
    one = build()
    two = build(summaries=one.summaries)
    one.provider.gate = asyncio.Event()
    await one.summariser.after_turn("ann", "t", build.talk(5))
    await one.provider.asked.wait()
    later = await two.after(build.talk(15))
    one.provider.gate.set()
    await one.summariser.drain()
    assert one.summaries.kept["ann", "t"] == later


async def test_a_summary_that_is_forgotten_meanwhile_stays_forgotten(build):
    rig = build()
    await rig.after(build.talk(5))
    rig.provider.gate = asyncio.Event()
    rig.provider.asked.clear()
    await rig.summariser.after_turn("ann", "t", build.talk(10))
    await rig.provider.asked.wait()
    await rig.summaries.forget("ann", "t")
    rig.provider.gate.set()
    await rig.summariser.drain()
    assert rig.summaries.kept == {}


async def test_a_short_thread_is_not_looked_up(build):
    rig = build()
    rig.summaries.is_down = True
    before = failures("StorageUnavailableError")
    assert await rig.summariser.current("ann", "t", build.talk(4)) == RollingSummary()
    assert failures("StorageUnavailableError") == before


async def test_a_restart_continues(build):
    before = build()
    await before.after(build.talk(7))
    after = build(summaries=before.summaries)
    assert build.covered(await after.after(build.talk(10))) == list(range(1, 11))
    assert len(after.provider.calls) == 1


async def test_values_are_redacted_before_they_are_kept(build, token):
    redactor = Redactor(placeholder_key=bytes(32))
    rig = build(provider=Saying(f"Ann's mail is {token}@example.com."), redactor=redactor)
    kept = await rig.after(build.talk(5))
    assert token not in kept.text
    assert kept.text == redactor.for_thread("t").redact(f"Ann's mail is {token}@example.com.")


@pytest.mark.parametrize("fails", [0, 1])
async def test_values_are_redacted_before_a_provider_reads_them_and_each_round_once(build, token, fails):
    class Counting:
        def __init__(self):
            self.inner = Redactor(placeholder_key=bytes(32)).for_thread("t")
            self.texts = []

        def redact(self, text):
            self.texts.append(text)
            return self.inner.redact(text)

    redactor = Counting()
    rig = build(redactor=redactor)
    rig.provider.fails = fails
    mail = f"{token}@example.com"
    messages = [*build.talk(4), HumanMessage(f"q5 write to {mail}", id="q5"), AIMessage(f"a5 {mail}", id="a5")]
    for _ in range(fails + 1):
        kept = await rig.after(messages)
    assert kept.rounds == 5
    rounds = rig.provider.calls[-1][0]
    assert rounds[-1].said == redactor.inner.redact(f"q5 write to {mail}") != f"q5 write to {mail}"
    assert token not in repr((rig.provider.calls, kept))
    assert len(redactor.texts) == len({*redactor.texts})


async def test_a_redactor_that_fails_keeps_the_summary_out(build):
    class Broken:
        def redact(self, text):
            raise ValueError

    rig = build(redactor=Broken())
    assert await rig.after(build.talk(5)) == RollingSummary()


async def test_placeholders_of_the_thread_stay_and_invented_ones_lose_their_tags(build):
    rig = build(provider=Saying("Write to <EMAIL:7K2QX3MD>, not to <EMAIL:AAAAAAAA>."))
    messages = [*build.talk(4), HumanMessage("I am <EMAIL:7K2QX3MD>", id="q5"), AIMessage("Hello", id="a5")]
    assert (await rig.after(messages)).text == "Write to <EMAIL:7K2QX3MD>, not to <EMAIL>."


async def test_it_serves_blocking_graphs_whose_threads_have_no_event_loop(build):
    rig = build()

    async def end(state):
        await rig.summariser.after_turn("ann", "t", state["messages"])
        return {}

    graph = StateGraph(ConversationState)
    graph.add_node("end", Node("end", end))
    graph.add_edge(START, "end")
    graph.add_edge("end", END)
    compiled = graph.compile()

    def blocking():
        compiled.invoke({"messages": build.talk(10)})
        wait_for(rig.summariser.drain())

    with ThreadPoolExecutor(1) as threads:
        await asyncio.get_running_loop().run_in_executor(threads, blocking)
    await rig.summariser.drain()
    assert build.covered(rig.summaries.kept["ann", "t"]) == list(range(1, 11))


async def test_rounds_are_counted_where_turns_end(build):
    rig = build()
    bounds, before = conversation_rounds._upper_bounds, [b.get() for b in conversation_rounds._buckets]
    await rig.after(build.talk(7))
    grown = [b.get() - old for b, old in zip(conversation_rounds._buckets, before, strict=True)]
    assert bounds == [1, 5, 10, 20, 50, 100, float("inf")]
    assert grown == [1, 0, 1, 0, 0, 0, 0]  # and the turn that nothing came of


async def test_rounds_that_no_summary_has_are_counted_where_turns_read_it(build):
    rig = build()

    def seen():
        return [bucket.get() for bucket in unsummarised_rounds._buckets]

    async def counted(rounds):
        before = seen()
        await rig.summariser.current("ann", "t", build.talk(rounds))
        return [now - old for now, old in zip(seen(), before, strict=True)]

    assert unsummarised_rounds._upper_bounds == [5, 10, 20, 50, 100, 200, float("inf")]
    assert await counted(103) == [0, 0, 0, 0, 0, 1, 0]
    assert await counted(103) == [0] * 7  # the same turn reads it once
    await rig.after(build.talk(7))
    assert await counted(7) == [1, 0, 0, 0, 0, 0, 0]  # two rounds are left
    rig.summaries.is_down = True
    assert await counted(203) == [0, 0, 0, 0, 0, 0, 1]  # who can't read it has none of them


async def test_a_hook_hears_of_each_commit_and_its_failure_costs_only_itself(build, caplog):
    heard = []

    async def hook(user_id, thread_id, summary, app_name):
        heard.append((user_id, thread_id, summary.rounds, app_name))
        raise StorageUnavailableError

    rig = build(on_commit=hook)
    await rig.summariser.after_turn("ann", "t", build.talk(10), app_name="clinic")
    await rig.summariser.drain()
    assert heard == [("ann", "t", 5, "clinic"), ("ann", "t", 10, "clinic")]
    assert rig.summaries.kept["ann", "t"].rounds == 10
    assert "rolling_summary_failed cause=StorageUnavailableError thread=t" in caplog.text


async def test_the_summary_is_one_memory_of_its_thread_without_tags(build):
    memories = InMemoryMemories()
    rig = build(on_commit=remember_summary(memories))
    for n in (1, 2, 3):
        await rig.after(build.talk(5 * n))
    await rig.after(build.talk(5), thread="u")
    (kept,) = await memories.latest("ann", filters=MemoryFilters(thread_id="t"))
    assert (kept.type, kept.tags, kept.provenance.source) == ("conversation_summary", ["rolling"], "compaction")
    assert kept.text == "1 2 3 4 5\n6 7 8 9 10\n11 12 13 14 15"
    assert len(await memories.latest("ann")) == 2


async def test_what_is_remembered_carries_no_tag_of_the_thread_and_fits_a_memory():
    memories = InMemoryMemories()
    remember = remember_summary(memories)
    text = "Write to <EMAIL:7K2QX3MD>. " + "x" * MAX_MEMORY_CHARS
    await remember("ann", "t", RollingSummary(text=text, rounds=5, last_message_id="a5"), "clinic")
    (kept,) = await memories.latest("ann")
    assert kept.text.startswith("Write to <EMAIL>. ")
    assert (len(kept.text), kept.app_name) == (MAX_MEMORY_CHARS, "clinic")


async def test_nothing_is_remembered_of_nobody_and_of_an_empty_summary():
    memories = InMemoryMemories()
    remember = remember_summary(memories)
    await remember(None, "t", RollingSummary(text="x", rounds=5, last_message_id="a5"), "default")
    await remember("ann", "t", RollingSummary(text=" ", rounds=5, last_message_id="a5"), "default")
    assert await memories.latest("ann") == []
