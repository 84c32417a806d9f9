"""Each agent as it was, and with the saver and the memory: caller, model, tools and `get_state` see the same."""

from __future__ import annotations

from itertools import pairwise

import pytest
from testkit.adopters import ADOPTERS, MEDIA, STRUCTURED, agent_of, chat_turns, media_turns
from testkit.adopting import Adopter, Turn, answer, human

SHORT, LONG = 40, 5_000


@pytest.mark.parametrize("name", [name for name in ADOPTERS if name != "own channels, unnamed"])
async def test_all_sides_see_the_same_and_the_disk_is_clean(pair, name):
    before, after, said = await pair(ADOPTERS[name])
    differences = after.differences(before)
    if name in MEDIA or name == "image and file":  # stored is what stands for a medium, see the test of later turns
        differences = {place: pair for place, pair in differences.items() if not place.startswith("state[")}
    assert differences == {}
    assert said.on_disk() == {}


@pytest.mark.parametrize("name", ["tools", "edit", "interrupt in a tool", "tool, pydantic"])
async def test_all_sides_see_the_same_without_an_event_loop(pair, name):
    before, after, said = await pair(ADOPTERS[name], face="sync")
    assert after.differences(before) == {}
    assert said.on_disk(files=False) == {}


@pytest.mark.parametrize("face", ["async", "sync", "events"])
@pytest.mark.parametrize("name", ["tools", "approve", "own channels, one turn", "agent as a node", "tool, pydantic"])
async def test_streams_show_the_same(pair, name, face):
    before, after, said = await pair(ADOPTERS[name], face=face, streamed=True, subgraphs=name == "agent as a node")
    assert after.differences(before) == {}
    assert said.on_disk(files=False) == {}


@pytest.mark.parametrize("name", STRUCTURED)
async def test_a_structured_response_is_the_object_that_the_agent_made(pair, name):
    adopter, expected = STRUCTURED[name]
    _, after, said = await pair(adopter)
    responses = [result["structured_response"] for result in after.raw]
    assert responses == [expected(said)] * 2
    assert {type(each) for each in responses} == {type(expected(said))}


@pytest.mark.parametrize("name", MEDIA)
async def test_later_turns_have_a_stand_in_for_media_and_the_words_beside_them(pair, name):
    def turns(said):
        again = Turn(human(2, "And what was in it?"), [answer("An invoice.")])
        return [*media_turns(MEDIA[name])(said), again]

    _, after, said = await pair(Adopter(agent_of, turns))
    for seen in (after.model[-1], after.caller[-1]["messages"]):
        (_, text), *_ = seen["earlier"]
        assert "My e-mail is «pii mail»@example.com and this is the invoice." in text
        assert ("[application/pdf, " if name == "file" else "[image/png, ") in text
    assert said.on_disk() == {}


async def test_nothing_of_a_long_conversation_is_cut(pair):
    before, after, said = await pair(Adopter(agent_of, chat_turns(SHORT, long=LONG)))
    assert after.differences(before) == {}
    sent = [call["earlier"] for call in after.model]
    assert [len(each) for each in sent] == list(range(0, 2 * SHORT, 2))
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(sent)), "no message is told anew"
    assert said.on_disk(files=False) == {}
