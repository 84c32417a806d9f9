"""Each line of defence alone: with a hole in one, the search finds the leak or the next line refuses it."""

import traceback

import pytest
from langchain_core.messages import SystemMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.types import Send
from leak_battery.drive import make_scenes, play_all
from leak_battery.savers import make_saver, open_pool
from leak_battery.stories import FACES, STORIES

from discreet.checkpoint import KEEP, durable_form, message_ids, tiers, tripwire
from discreet.checkpoint import filter as filters
from discreet.errors import LeakBlockedError
from discreet.redaction import Masked, ThreadRedactor

SOME_STORIES = {name: STORIES[name] for name in ("over", "raised", "paused, answered", "raised, new message")}


def everything(checkpoint, *_, **__):
    """Stand in for the filter of checkpoints."""
    kept = {channel: filters.Kept(lambda value=value: value) for channel, value in checkpoint["channel_values"].items()}
    return filters.FilteredCheckpoint(checkpoint, kept, complete=True)


def every_write(writes, *_, **__):
    """Stand in for the filter of writes."""
    return list(writes)


def all_metadata(config, metadata, _):
    """Stand in for the filter of metadata."""
    given = {**config.get("configurable", {}), **config.get("metadata", {})}
    return {**{key: value for key, value in given.items() if isinstance(value, str)}, **metadata}


def any_plain_channel(channel, value, policy):
    """Stand in for the allow-list."""
    return filters._by_rule(KEEP, value, policy)


def whole_interrupt(value, policy):
    """Stand in for the rule of interrupts."""
    return value


HOLES = {
    "redactor": (ThreadRedactor, "mask", lambda _, text, *_known, **_how: Masked(text, {}), "pii usertext"),
    "ids of messages": (message_ids, "_derived", lambda message_id: message_id, "raw messageid"),
    "turns that never ended": (durable_form, "said_last", lambda messages: set(), "raw planner"),
    "metadata": (tiers, "filter_metadata", all_metadata, "raw metadata"),
    "answers to a question": (filters, "is_harmless", lambda answer, policy: True, "raw resumeanswer"),
    "interrupts": (filters, "_filter_interrupt", whole_interrupt, "raw interruptpayload"),
    "channels": (filters, "_filter_plain", any_plain_channel, "raw strchannel"),
}
"""What is replaced by what, and one of the places that leak then."""


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("hole", HOLES)
async def test_a_hole_in_the_filter_is_found_or_refused(monkeypatch, talkative_database, plants, left_by, hole):
    owner, name, stand_in, place = HOLES[hole]
    monkeypatch.setattr(owner, name, stand_in)
    scenes = make_scenes(
        plants, "async", ["sync"], scenarios=["agent", "planner", "private channels"], stories=SOME_STORIES
    )
    async with open_pool(talkative_database, "async") as pool:
        wrong = await play_all(scenes, await make_saver(pool))
        found = left_by(talkative_database)
    leaking = {leak.split(" of ")[0] for leak in found.leaks}
    assert place in leaking or any("LeakBlockedError" in error for error in wrong.values())


@pytest.mark.slow
@pytest.mark.parametrize("face", FACES)
async def test_without_a_filter_the_tripwire_refuses_every_turn(monkeypatch, talkative_database, plants, left_by, face):
    monkeypatch.setattr(durable_form, "filter_checkpoint", everything)
    monkeypatch.setattr(tiers, "filter_writes", every_write)
    scenes = make_scenes(plants, face, ["sync"], scenarios=["agent", "prebuilt", "subgraph", "sends", "delta"])
    async with open_pool(talkative_database, face) as pool:
        wrong = await play_all(scenes, await make_saver(pool))
        found = left_by(talkative_database)
    leaking = {leak.split(" of ")[0].split(" ")[-1] for leak in found.leaks}
    assert leaking <= USERS_WORDS
    assert any("LeakBlockedError" in error for error in wrong.values())


USERS_WORDS = {"loginput", "messageid", "usertext", "hex", "text"}
"""What a user's message says, and its id: only the filter knows how these are stored. "hex" is how a log shows them, and
"text" is the seal alone: of a word that a page of the log has cut in two."""


def of_tool(word):
    return [ToolMessage(word, tool_call_id="1")]


def of_system(word):
    return [SystemMessage(word)]


def of_packet(word):
    return [Send("node", {"query": word})]


REFUSED = {
    "a tool message": lambda word: [ToolMessage(word, tool_call_id="1")],
    "a system message": lambda word: [SystemMessage(word)],
    "a packet": lambda word: [Send("node", {"query": word})],
}


def as_value(durable, value):
    checkpoint = {**empty_checkpoint(), "channel_values": {"topic": value}, "channel_versions": {"topic": "1"}}
    where = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    return durable.aput(where, checkpoint, {}, {"topic": "1"})


def as_write(durable, value):
    where = {"configurable": {"thread_id": "1", "checkpoint_ns": "", "checkpoint_id": "1"}}
    return durable.aput_writes(where, [("topic", value)], "task")


@pytest.mark.slow
@pytest.mark.parametrize("store", [as_value, as_write])
@pytest.mark.parametrize("what", REFUSED)
async def test_without_filter_and_tripwire_the_database_refuses(
    monkeypatch, database, plants, left_by, what, store, caplog
):
    monkeypatch.setattr(tripwire, "check", lambda _: None)
    scene, _ = make_scenes(plants, "async", ["sync"], scenarios=["agent"])[0]
    async with open_pool(database, "async") as pool:
        saver = await make_saver(pool)
        with pytest.raises(LeakBlockedError) as refused:
            await store(saver._durable, REFUSED[what](scene.raw("refused")))
        found = left_by(database)
    assert found.leaks == {}
    assert not plants.within("".join(traceback.format_exception(refused.value)) + caplog.text)
