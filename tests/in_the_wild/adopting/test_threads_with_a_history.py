"""A thread with eight turns that LangGraph's own saver wrote: the model gets the whole of it, as it would have."""

from __future__ import annotations

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from testkit.adopters import agent_of, introduction
from testkit.adopting import Adopter, Said, Turn, adopted, answer, call, has_sent, human, play, sends

OLD, NEW = range(8), range(8, 10)


def turns(said: Said) -> list[Turn]:
    """Return ten turns, each with tool traffic and values of its own."""
    first = Turn(introduction(said), [call("find_customer", 1, name="Ann"), sends(1), has_sent])
    more = [
        Turn(
            human(at, f"Turn {at}: and tell {said.other_mail} of {said.phone}."),
            [call("find_customer", at, name="Ann"), sends(at), answer(f"Turn {at} went to {said.other_mail}.")],
        )
        for at in range(2, 11)
    ]
    return [first, *more]


async def test_turns_after_the_adoption_have_the_whole_history(stock_dsn, empty_database):
    adopter, stock, said = Adopter(agent_of, turns), Said(), Said()
    async with AsyncPostgresSaver.from_conn_string(stock_dsn) as saver:
        await play(adopter, stock, saver, only=OLD)
        before = await play(adopter, stock, saver, only=NEW)
    async with AsyncPostgresSaver.from_conn_string(empty_database) as saver:
        await saver.setup()
        await play(adopter, said, saver, only=OLD)
    async with adopted(empty_database) as (saver, memory, _):
        after = await play(adopter, said, saver, memory, only=NEW)
    assert after.differences(before) == {}
    assert all(call["earlier"][0][1].startswith("Hi, I'm Ann. My e-mail is «pii mail»") for call in after.model)
    assert [len(call["earlier"]) for call in after.model] == [16, 16, 16, 18, 18, 18]
