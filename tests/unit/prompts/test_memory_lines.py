"""Which day, and which time of it, stands behind a memory in the prompt."""

import pytest
from langchain_core.messages import HumanMessage

from discreet.prompts.assembly import assemble
from discreet.prompts.facts import memory_line, with_times
from discreet.providers.tokens import count_tokens
from discreet.state.conversation import RetrievedMemory


def memory(created_at, text="x", type="user_fact"):
    return RetrievedMemory(entry_id="1", text=text, type=type, created_at=created_at, relevance=0.8)


DAY = "2026-03-05T"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([f"{DAY}10:00:00+00:00"], ["2026-03-05"]),
        ([f"{DAY}10:00:00+00:00", "2026-03-06T10:00:00+00:00"], ["2026-03-05", "2026-03-06"]),
        ([f"{DAY}10:00:00+00:00", f"{DAY}10:00:00+00:00"], ["2026-03-05", "2026-03-05"]),
        ([f"{DAY}10:00:00+00:00", f"{DAY}18:30:00+00:00"], ["2026-03-05 10:00 UTC", "2026-03-05 18:30 UTC"]),
        ([f"{DAY}10:00:01+00:00", f"{DAY}10:00:09.5+00:00"], ["2026-03-05 10:00:01 UTC", "2026-03-05 10:00:09 UTC"]),
        ([f"{DAY}23:30:00-02:00", "2026-03-06T09:00:00+00:00"], ["2026-03-06 01:30 UTC", "2026-03-06 09:00 UTC"]),
        (["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:00-14:00"], ["0001-01-01", "9999-12-31"]),
        (["0001-01-01T00:00:00+00:00", "0001-01-01T05:00:00+00:00"], ["0001-01-01 00:00 UTC", "0001-01-01 05:00 UTC"]),
        ([f"{DAY}10:00:00", f"{DAY}11:00:00"], ["2026-03-05", "2026-03-05"]),
        (["yesterday", "2026-03-05", ""], [None, "2026-03-05", None]),
    ],
)
def test_the_time_is_told_where_two_of_a_day_were_not_said_at_once(said, told):
    lines = [memory_line(each) for each in with_times([memory(when) for when in said])]
    assert lines == [f'- [user_fact] "x" ({when})' if when else '- [user_fact] "x"' for when in told]


def test_a_prompt_tells_which_of_two_facts_of_a_day_is_newer():
    prompt = assemble(
        count=count_tokens,
        running=[HumanMessage("Where do I live?")],
        memories=[
            memory(f"{DAY}18:30:00+00:00", "I moved to Berlin"),
            memory(f"{DAY}10:00:00+00:00", "I live in Hanoi"),
        ],
    )
    assert (
        '- [user_fact] "I moved to Berlin" (2026-03-05 18:30 UTC)\n- [user_fact] "I live in Hanoi" (2026-03-05 10:00 UTC)'
        in (prompt.system)
    )
