"""A client as those of AG-UI and CopilotKit: it sends the whole history each turn, under ids of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from random import Random
from string import ascii_letters, digits
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
HEX = "0123456789abcdef"


def drawn(chance: Random, alphabet: str, length: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(length))


def some_uuid(chance: Random) -> UUID:
    return UUID(int=chance.getrandbits(128), version=4)


KINDS: dict[str, Callable[[Random, int], str]] = {
    "m": lambda chance, number: f"m{number}",
    "msg_": lambda chance, number: f"msg_{drawn(chance, HEX, 48)}",
    "resp_": lambda chance, number: f"resp_{drawn(chance, HEX, 48)}",
    "run--": lambda chance, number: f"run--{some_uuid(chance)}-0",
    "lc_run--": lambda chance, number: f"lc_run--{some_uuid(chance)}",
    "nanoid": lambda chance, number: drawn(chance, ascii_letters + digits + "_-", 21),
    "chatcmpl-": lambda chance, number: f"chatcmpl-{drawn(chance, ascii_letters + digits, 29)}",
    "ulid": lambda chance, number: f"01{drawn(chance, ULID, 24)}",
    "uuid": lambda chance, number: str(some_uuid(chance)),
    "with dots and colons": lambda chance, number: f"app.web:turn.{number}",
}


def ids_of(kind: str, count: int) -> list[str]:
    """Return different ids of a kind, the same ones at every run."""
    chance = Random(kind)
    return list(dict.fromkeys(KINDS[kind](chance, number) for number in range(count)))


FORMS: dict[str, Callable[[str, str, str], Any]] = {
    "role": lambda role, text, id_: {"role": {"human": "user", "ai": "assistant"}[role], "content": text, "id": id_},
    "type": lambda role, text, id_: {"type": role, "content": text, "id": id_},
    "object": lambda role, text, id_: (HumanMessage if role == "human" else AIMessage)(text, id=id_),
}

STRANGE = {
    "an e-mail address": lambda house: f"{house.raw('idmail')}@example.com",
    "a telephone number": lambda house: "+14155552671",
    "200 characters": lambda house: house.raw("longid").ljust(200, "x"),
    "spaces": lambda house: f"the first {house.raw('spacedid')} of mine",
}


def chat(saver: Any, model: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


class Client:
    """Keeps the history itself and sends all of it."""

    def __init__(self, form: Callable[[str, str, str], Any]) -> None:
        self.form = form
        self.history: list[Any] = []

    def say(self, text: str, id_: str) -> dict[str, Any]:
        self.history.append(self.form("human", text, id_))
        return {"messages": list(self.history)}

    def hear(self, answer: BaseMessage) -> None:
        self.history.append(self.form("ai", answer.text, str(answer.id)))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("kind", "form"), list(zip(KINDS, cycle(FORMS), strict=False)))
async def test_three_turns_give_six_messages_under_the_ids_that_were_sent(house, run, kind, form):
    ids = ids_of(kind, 6)
    client = Client(FORMS[form])
    for turn, what in enumerate(("one", "two", "three")):
        model = house.model(house.answer(f"answer{what}", id=ids[2 * turn + 1]))
        async with house.saver() as saver:  # a process a turn
            out = await run(chat(saver, model), client.say(house.text(what), ids[2 * turn]), house.config)
        client.hear(out["messages"][-1])
        assert [m.id for m in out["messages"]] == ids[: 2 * turn + 2], "each message once, under the id that was sent"
        assert house.told(model.prompts[0])[-1] == ("human", what)
        assert len(model.prompts[0]) == 2 * turn + 1, "the model saw a message twice, or one was missing"
    async with house.saver() as saver:
        state = await chat(saver, house.model()).aget_state(house.config)
    assert [m.id for m in state.values["messages"]] == ids, "the rows have other ids than the client"
    house.check()


@pytest.mark.slow
async def test_one_process_keeps_the_ids_that_the_model_gave(house, run):
    client = Client(FORMS["role"])
    async with house.saver() as saver:
        for number, what in enumerate(("one", "two", "three")):
            graph = chat(saver, house.model(house.answer(f"answer{what}")))
            out = await run(graph, client.say(house.text(what), f"m{number}"), house.config)
            client.hear(out["messages"][-1])
        state = await graph.aget_state(house.config)
    assert [m.id for m in state.values["messages"]] == [each["id"] for each in client.history]
    assert len(client.history) == 6
    house.check()


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("kind", KINDS)
async def test_hardly_any_id_of_a_usual_form_is_taken_for_something_personal(house, kind):
    ids = ids_of(kind, 300)
    async with house.saver() as saver:
        graph = chat(saver, house.model())
        await graph.aupdate_state(
            house.config, {"messages": [HumanMessage("Hi", id=id_) for id_ in ids]}, as_node="model"
        )
    async with house.saver() as saver:
        state = await chat(saver, house.model()).aget_state(house.config)
    replaced = set(ids) - {m.id for m in state.values["messages"]}
    assert len(state.values["messages"]) == len(ids)
    assert len(replaced) <= len(ids) // 100, (
        f"{len(replaced)} of {len(ids)} were replaced, such as {sorted(replaced)[:3]}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", STRANGE)
async def test_a_strange_id_is_replaced_once_and_stands_for_the_same_message_from_then_on(house, run, kind):
    strange = STRANGE[kind](house)
    async with house.saver() as saver:
        first = await run(
            chat(saver, house.model(house.answer("one"))),
            {"messages": [{"role": "user", "content": "Draft", "id": strange}]},
            house.config,
        )
        kept = await chat(saver, house.model()).aget_state(house.config)
    stored = kept.values["messages"][0].id
    assert stored != strange, "the id itself was stored"
    assert len(stored) <= 64
    async with house.saver() as saver:
        changed = {"messages": [{"role": "user", "content": house.text("changed"), "id": strange}]}
        ended = await run(chat(saver, house.model(house.answer("two"))), changed, house.config)
        assert house.told(ended["messages"]) == [("human", "changed"), ("ai", "one"), ("ai", "two")]
        again = (await chat(saver, house.model()).aget_state(house.config)).values["messages"]
        assert [m.id for m in again].count(stored) == 1, "the same id is mapped in two ways"
        assert house.told(again) == [("human", "changed"), ("ai", "one"), ("ai", "two")], (
            "the resent message is another one"
        )
        await chat(saver, house.model()).aupdate_state(
            house.config, {"messages": [RemoveMessage(id=first["messages"][-1].id)]}, as_node="model"
        )
    assert await house.after_restart(lambda saver: chat(saver, None)) == [("human", "changed"), ("ai", "two")]
    house.check(strange, lost=["one"])


@pytest.mark.slow
async def test_a_message_that_the_client_resends_with_another_text_is_changed(house, run):
    async with house.saver() as saver:
        out = await run(
            chat(saver, house.model(house.answer("one"))),
            {"messages": [{"role": "user", "content": "Draft", "id": "m1"}]},
            house.config,
        )
        answer = out["messages"][-1]
        history = [
            {"role": "user", "content": house.text("edited"), "id": "m1"},
            {"role": "assistant", "content": answer.text, "id": answer.id},
            {"role": "user", "content": house.text("next"), "id": "m2"},
        ]
        model = house.model(house.answer("two"))
        await run(chat(saver, model), {"messages": history}, house.config)
    expected = [("human", "edited"), ("ai", "one"), ("human", "next")]
    assert house.told(model.prompts[0]) == expected, "what the model saw"
    assert await house.after_restart(lambda saver: chat(saver, None)) == [*expected, ("ai", "two")]
    house.check()


@pytest.mark.slow
async def test_a_message_is_removed_by_the_id_that_invoke_returned(house, run):
    async with house.saver() as saver:
        out = await run(
            chat(saver, house.model(house.answer("one"))), {"messages": [house.user("first", id="m1")]}, house.config
        )
    async with house.saver() as saver:
        given = [RemoveMessage(id=out["messages"][-1].id), RemoveMessage(id="m1"), house.user("second", id="m2")]
        model = house.model(house.answer("two"))
        await run(chat(saver, model), {"messages": given}, house.config)
    assert house.told(model.prompts[0]) == [("human", "second")], "what the model saw after the removal"
    assert await house.after_restart(lambda saver: chat(saver, None)) == [("human", "second"), ("ai", "two")]
    house.check(lost=["first", "one"])


@pytest.mark.slow
async def test_a_client_replaces_the_whole_history(house, run):
    async with house.saver() as saver:
        graph = chat(saver, house.model(house.answer("one"), house.answer("two")))
        await run(graph, {"messages": [house.user("first", id="m1")]}, house.config)
        given = [RemoveMessage(id=REMOVE_ALL_MESSAGES), house.user("mine", id="n1")]
        await run(graph, {"messages": given}, house.config)
    assert await house.after_restart(lambda saver: chat(saver, None)) == [("human", "mine"), ("ai", "two")]
    house.check(lost=["first", "one"])
