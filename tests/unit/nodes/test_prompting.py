"""Every round of a thread is told, whoever summarises, and whatever fails."""

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from testkit.prompt_blocks import read_prompt

from discreet.errors import ProviderError, StorageUnavailableError
from discreet.nodes.prompting import Prompting
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.nodes.run import Run
from discreet.providers.summaries import ExtractiveSummaryProvider
from discreet.state.context import Context
from discreet.state.conversation import RetrievedMemory
from discreet.testing import InMemoryRollingSummaries, ScriptedChatModel

RUN = Run(user_id="ann", thread_id="1", context=Context(user_id="ann"))


def conversation(rounds, words=60):
    return [
        message
        for i in range(rounds)
        for message in (
            HumanMessage(f"My number{i} likes code{i}. " + "word " * words, id=f"h{i}"),
            AIMessage(f"Noted {i}. " + "word " * words, id=f"a{i}"),
        )
    ] + [HumanMessage("And now?", id="now")]


class Failing(InMemoryRollingSummaries):
    async def get(self, user_id, thread_id):
        raise StorageUnavailableError


class Silent(ExtractiveSummaryProvider):
    async def summarize(self, rounds, *, earlier="", max_tokens=200):
        raise ProviderError


async def prompted(messages, *, summariser=None, window=4_096):
    prompting = Prompting(summariser=summariser, context_window_size=window)
    prompt, _ = await prompting.prompt(messages, [], run=RUN, model=ScriptedChatModel(responses=[]))
    return prompt


def in_lines_or_messages(prompt):
    lines = read_prompt(prompt.system).blocks.get("earlier_rounds", ())
    texts = [*lines, *(m.text for m in prompt.rounds if m.type == "human")]
    return [int(re.search(r"number(\d+)", text)[1]) for text in texts]


@pytest.mark.slow
async def test_what_a_prompt_has_no_room_for_is_summarised_in_the_turn():
    summaries = InMemoryRollingSummaries()
    prompt = await prompted(
        conversation(300), summariser=RollingSummariser(summaries, ExtractiveSummaryProvider(), background=False)
    )
    stored = await summaries.get("ann", "1")
    assert stored.rounds >= 290
    assert in_lines_or_messages(prompt) == list(range(stored.rounds, 300))
    assert stored.text.splitlines()[0][:40] in prompt.system
    assert prompt.untold == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "summariser",
    [
        None,
        RollingSummariser(Failing(), ExtractiveSummaryProvider()),
        RollingSummariser(InMemoryRollingSummaries(), Silent()),
    ],
    ids=["none", "storage-down", "model-down"],
)
async def test_without_a_summary_the_oldest_rounds_are_quoted(summariser):
    prompt = await prompted(conversation(300), summariser=summariser)
    told = in_lines_or_messages(prompt)
    assert told == list(range(told[0], 300))
    assert prompt.untold == 0
    assert "My number" in read_prompt(prompt.system).blocks["conversation_summary"][0]
    assert prompt.total <= 4_096


@pytest.mark.slow
@pytest.mark.parametrize("window", [1_500, 2_500, 3_000, 4_096])
async def test_the_last_six_rounds_are_told_however_much_is_quoted(window):
    assert in_lines_or_messages(await prompted(conversation(300), window=window))[-6:] == list(range(294, 300))


@pytest.mark.parametrize("name", [None, "claude-sonnet-4"])
async def test_a_model_that_is_not_openais_is_counted_with_a_third_more(name):
    class Named(ScriptedChatModel):
        model_name: str | None = None

    prompting, messages = Prompting(context_window_size=9_000), conversation(3)
    prompt, exact = [
        (await prompting.prompt(messages, [], run=RUN, model=Named(responses=[], model_name=each)))[0].total
        for each in (name, "gpt-4o")
    ]
    assert 1.3 * exact < prompt < 1.4 * exact


async def test_a_conversation_that_fits_is_word_for_word_and_nothing_is_summarised():
    summaries = InMemoryRollingSummaries()
    messages = conversation(12)
    prompt = await prompted(
        messages, summariser=RollingSummariser(summaries, ExtractiveSummaryProvider()), window=9_000
    )
    assert [m.text for m in prompt.messages[1:]] == [m.text for m in messages]
    assert (await summaries.get("ann", "1")).rounds == 0


LENGTHS = st.lists(st.one_of(st.integers(0, 30), st.integers(0, 800)), min_size=1, max_size=60)


@given(LENGTHS, st.lists(st.integers(0, 800), max_size=5), st.integers(1_400, 30_000), st.booleans())
def test_whatever_the_lengths_every_round_is_told_somewhere(lengths, facts, window, summarises):
    messages = [
        message
        for i, words in enumerate(lengths)
        for message in (
            HumanMessage(f"number{i} " + "w " * words, id=f"h{i}"),
            AIMessage("Yes. " + "a " * words, id=f"a{i}"),
        )
    ]
    memories = [
        RetrievedMemory(
            entry_id=str(i), text=f"fact{i} " + "f " * words, type="user_fact", created_at="2026-03-05", relevance=0.8
        )
        for i, words in enumerate(facts)
    ]
    summaries = InMemoryRollingSummaries()
    summariser = RollingSummariser(summaries, ExtractiveSummaryProvider()) if summarises else None
    prompting = Prompting(summariser=summariser, context_window_size=window)
    asked = [*messages, HumanMessage("now?", id="now")]
    model = ScriptedChatModel(responses=[])
    prompt, _ = asyncio.run(prompting.prompt(asked, memories, run=RUN, model=model))
    covered = asyncio.run(summaries.get("ann", "1")).rounds
    told = in_lines_or_messages(prompt)
    quoted = "conversation_summary" in read_prompt(prompt.system).blocks
    assert told == list(range(len(lengths) - len(told), len(lengths)))
    assert len(told) == len(lengths) or quoted or covered + len(told) >= len(lengths)
    assert prompt.untold == 0
    assert prompt.system.count('\n- [user_fact] "f') == len(
        facts
    )  # if only in part: in a small window even short ones are cut
    assert prompt.total <= window
