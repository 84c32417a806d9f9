"""Later turns have the values that were said, for as long as the vault has them; rows have placeholders, and keep them byte for byte."""

import asyncio
import logging
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from discreet.checkpoint import REDACT, CheckpointPolicy
from discreet.redaction import InMemoryTurnVault, Redactor
from discreet.redaction.thread_values import vault_key

ANN, EVE = "ann@example.com", "eve@example.com"
FORGED = "<EMAIL:ABCDEFGH>"
POLICY = CheckpointPolicy(channels={"topic": REDACT}, tools={"look_up": REDACT})
THREAD = {"configurable": {"thread_id": "values-return"}}


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    topic: dict[str, str]


def is_call(message):
    return bool(getattr(message, "tool_calls", None))


def chat(saver, **options):
    """An agent that answers with what it was told, and looks a person up where it is asked to."""

    def model(state):
        said = state["messages"][-1]
        if said.type == "human" and said.text.startswith("look up"):
            call = {"name": "look_up", "args": {"who": said.text.split()[-1]}, "id": f"call-{len(state['messages'])}"}
            return {"messages": [AIMessage("", tool_calls=[call])]}
        answer = said.text if said.type == "human" else "found"
        return {"messages": [AIMessage(f"You said {answer}")], "topic": {"last": answer}}

    def tools(state):
        call = state["messages"][-1].tool_calls[0]
        text = f"{EVE} knows {call['args']['who']} {FORGED}"
        return {"messages": [ToolMessage(text, name="look_up", tool_call_id=call["id"])]}

    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if is_call(state["messages"][-1]) else "__end__")
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver, **options)


class CountingVault(InMemoryTurnVault):
    """Counts the look-ups and the calls that add something."""

    def __init__(self, **options):
        super().__init__(**options)
        self.asked, self.given = 0, 0

    def values(self, turn):
        self.asked += 1
        return super().values(turn)

    def hold(self, turn, values, *, seconds=None):
        self.given += 1
        super().hold(turn, values, seconds=seconds)


@pytest.fixture
def vault():
    return CountingVault()


@pytest.fixture
def open_talk(rows, vault):
    """Return what opens a talk in another process, over the shared vault if no other is given."""

    def open_(make=chat, policy=POLICY, **options):
        talk = rows.talk(make, rows.open(policy, **{"vault": vault, **options}))
        talk.config = THREAD
        return talk

    return open_


@pytest.fixture
def stored(rows):
    """Return what says what is stored: ids and texts of the messages, calls and the topic."""

    async def read(config=THREAD, make=chat, policy=POLICY):
        talk = rows.talk(make, rows.open(policy, restore=False))
        values = (await talk.state(config)).values
        told = [(m.id, m.type, m.text, str(getattr(m, "tool_calls", ""))) for m in values.get("messages", [])]
        return [*told, values.get("topic")]

    return read


def texts(values):
    return [message.text for message in values["messages"]]


def say(text, message_id=None):
    return {"messages": [HumanMessage(text, id=message_id)]}


def hidden(told):
    return ANN not in str(told) and EVE not in str(told)


async def test_a_later_turn_has_the_values_in_this_process_and_in_another(open_talk, stored, durability):
    talk = open_talk()
    await talk.invoke(say(f"I am {ANN}"), **durability)
    first = await stored()
    assert hidden(first)
    assert "<EMAIL:" in str(first)
    for again in (talk, open_talk(), open_talk()):
        assert texts((await again.state()).values)[:2] == [f"I am {ANN}", f"You said I am {ANN}"]
        result = await again.invoke(say(f"write to {EVE}"), **durability)
        assert texts(result)[:2] == [f"I am {ANN}", f"You said I am {ANN}"]
        now = await stored()
        assert now[:2] == first[:2]
        assert hidden(now)


async def test_kept_tools_and_channels_have_their_values(open_talk, stored):
    await open_talk().invoke(say(f"look up {ANN}"))
    before = await stored()
    assert hidden(before)
    talk = open_talk()
    values = (await talk.state()).values
    _, call, result, answer = values["messages"]
    assert call.tool_calls[0]["args"] == {"who": ANN}
    assert result.text == f"{EVE} knows {ANN} <EMAIL>"
    assert answer.text == "You said found"
    await talk.invoke(say(f"I am {EVE}"))
    assert (await open_talk().state()).values["topic"] == {"last": f"I am {EVE}"}
    after = await stored()
    assert after[:4] == before[:4]
    assert hidden(after)


async def test_without_values_placeholders_stay_and_rows_are_the_same_bytes(open_talk, stored):
    await open_talk().invoke(say(f"look up {ANN}"))
    await open_talk().invoke(say(f"I am {ANN}"))
    before = await stored()
    talk = open_talk(vault=InMemoryTurnVault())
    assert hidden(texts((await talk.state()).values))
    await talk.invoke(say("and now"))
    after = await stored()
    assert after[: len(before) - 1] == before[:-1]


async def test_rows_stay_though_the_vault_changes_under_the_turn(open_talk, stored, vault):
    await open_talk().invoke(say(f"my dog is Rex, I am {ANN}", "a"))
    before = await stored()
    talk = open_talk()
    shown = (await talk.state()).values["messages"]
    vault.drop(vault_key("values-return"))
    resent = [type(m)(m.text, id=m.id) for m in shown]
    await talk.invoke({"messages": [*resent, HumanMessage("next", id="b")]})
    assert (await stored())[:2] == before[:2]


class Blind:
    """A redactor of a later version, which finds nothing any more."""

    def for_thread(self, thread_id):
        return self

    def redact(self, text):
        return text

    def mask(self, text, known=None, *, trusted=False):
        return text, {}


@pytest.mark.parametrize("resends", [False, True])
async def test_rows_stay_though_the_redactor_changes(open_talk, stored, resends):
    await open_talk().invoke(say(f"I am {ANN}", "a"))
    await open_talk().invoke(say(f"look up {ANN}", "b"))
    before = await stored()
    blind = CheckpointPolicy(channels=POLICY.channels, tools=POLICY.tools, redactor=Blind())
    talk = open_talk(policy=blind)
    shown = (await talk.state()).values["messages"] if resends else []
    resent = [m.model_copy(deep=True) for m in shown]
    await talk.invoke({"messages": [*resent, HumanMessage("next", id="c")]})
    assert (await stored())[: len(before) - 1] == before[:-1]


async def test_a_client_that_sends_its_history_again_changes_no_row(open_talk, stored, vault):
    first = await open_talk().invoke(say(f"I am {ANN}", "a"))
    before = await stored()
    history = [type(m)(m.text, id=m.id) for m in first["messages"]]
    for number in range(2):
        result = await open_talk().invoke({"messages": [*history, HumanMessage("next", id=f"n{number}")]})
        assert texts(result)[0] == f"I am {ANN}"
        assert (await stored())[:2] == before[:2]
    edited = HumanMessage("I am someone else", id="a")
    await open_talk().invoke({"messages": [edited, *history[1:], HumanMessage("after an edit", id="z")]})
    after = await stored()
    assert after[0][2] == "I am someone else"
    assert after[1] == before[1]


async def test_an_update_with_what_is_shown_changes_no_row(open_talk, stored):
    talk = open_talk()
    await talk.invoke(say(f"I am {ANN}", "a"))
    before = await stored()
    await talk.update({"messages": (await talk.state()).values["messages"]})
    assert await stored() == before
    await talk.update({"messages": [HumanMessage(f"I am {ANN} and {EVE}", id="a")]})
    after = await stored()
    assert hidden(after)
    assert after[0] != before[0]
    assert texts((await open_talk().state()).values)[0] == f"I am {ANN} and {EVE}"


async def test_a_branch_from_the_past_has_the_values(open_talk, stored):
    talk = open_talk()
    await talk.invoke(say(f"I am {ANN}", "a"))
    past = (await talk.state()).config
    await talk.invoke(say(f"and {EVE}"))
    other = open_talk()
    listed = [texts(state.values) for state in await other.history() if state.values]
    assert [told[0] for told in listed] == [f"I am {ANN}"] * len(listed)
    result = await other.invoke(say("a branch"), past)
    assert texts(result)[:2] == [f"I am {ANN}", f"You said I am {ANN}"]
    assert hidden(await stored())


async def test_a_copy_has_the_values_after_its_source_is_deleted(rows, open_talk, stored, vault):
    await open_talk().invoke(say(f"I am {ANN}"))
    saver = rows.open(POLICY, vault=vault)
    target = {"configurable": {"thread_id": "the-copy"}}
    await rows.on_saver(saver, "copy_thread")("values-return", "the-copy")
    await rows.on_saver(saver, "delete_thread")("values-return")
    assert vault.values(vault_key("values-return")) == {}
    talk = open_talk()
    before = await stored(target)
    result = await talk.invoke(say(f"again {ANN}"), target)
    assert texts(result)[0] == f"I am {ANN}"
    after = await stored(target)
    assert after[:2] == before[:2]
    assert hidden(after)
    assert ANN in str((await open_talk().state(target)).values)


async def test_a_deletion_between_load_and_end_leaves_no_values(rows, open_talk, vault):
    talk = open_talk()
    await talk.invoke(say(f"I am {ANN}"))
    saver = talk.graph.checkpointer

    def deleting(each):
        def model(state):
            if rows.sync:
                each.delete_thread("values-return")
            else:
                asyncio.run_coroutine_threadsafe(each.adelete_thread("values-return"), loop).result(10)
            return {"messages": [AIMessage(f"and {EVE}")]}

        builder = StateGraph(State)
        builder.add_node("model", model)
        builder.add_edge(START, "model")
        return builder.compile(checkpointer=each)

    loop = asyncio.get_running_loop()
    other = rows.talk(deleting, saver)
    other.config = THREAD
    await other.invoke(say("next"))
    assert (await open_talk().state()).values == {}
    assert vault.values(vault_key("values-return")) == {}


async def test_tags_that_others_write_resolve_to_nothing(open_talk, stored, vault):
    talk = open_talk()
    result = await talk.invoke(say(f"{ANN} and {FORGED}", "a"))
    assert texts(result)[0] == f"{ANN} and {FORGED}"
    await talk.invoke(say(f"look up {FORGED}"))
    await talk.update({"messages": [HumanMessage(f"an update {FORGED}")]})
    rows = await stored()
    told = [text for _, kind, text, _ in rows[:-1] if kind in {"human", "tool"}]
    assert len(told) == 4
    assert FORGED not in str(told)
    vault.hold(vault_key("values-return"), {FORGED: "stolen"})
    seen = [m.text for m in (await open_talk().state()).values["messages"] if m.type in {"human", "tool"}]
    assert seen[0] == f"{ANN} and <EMAIL>"
    assert "stolen" not in str(seen)


async def test_tags_that_a_graph_has_handed_out_by_the_same_vault_stay(open_talk, stored, vault):
    """As nodes do that mask the state."""
    vault.hold(vault_key("values-return"), {FORGED: EVE})
    await open_talk().invoke(say(f"write to {FORGED}", "a"))
    assert (await stored())[0][2] == f"write to {FORGED}"
    assert texts((await open_talk().state()).values)[0] == f"write to {EVE}"


async def test_a_server_whose_graph_is_guarded_neither_fills_nor_restores(open_talk, stored, vault):
    talk = open_talk(restore=False)
    await talk.invoke(say(f"I am {ANN} {FORGED}"))
    assert (vault.asked, vault.given) == (0, 0)
    assert hidden((await talk.state()).values)
    assert FORGED in (await stored())[0][2]


async def test_the_vault_is_asked_once_a_load_and_only_where_there_are_placeholders(open_talk, vault):
    talk = open_talk()
    await talk.invoke(say("hello"))
    await talk.invoke(say("hello again"))
    assert (vault.asked, vault.given) == (0, 0)
    await talk.invoke(say(f"I am {ANN}"))
    assert vault.given == 2  # the input, and the end, which says how long it lives
    vault.asked = vault.given = 0
    await talk.invoke(say("and now"))
    assert (vault.asked, vault.given) == (1, 1)
    vault.asked = 0
    await open_talk().state()
    assert vault.asked == 1
    await open_talk().history()
    assert vault.asked == 2


async def test_values_live_from_the_last_turn_on_and_as_long_as_a_pause(rows, open_talk):
    now = [0.0]
    vault = InMemoryTurnVault(ttl=100, clock=lambda: now[0])
    await open_talk(vault=vault).invoke(say(f"I am {ANN}"))
    now[0] = 90
    await open_talk(vault=vault).invoke(say("next"))
    now[0] = 180
    assert texts((await open_talk(vault=vault).state()).values)[0] == f"I am {ANN}"
    paused = open_talk(lambda saver: chat(saver, interrupt_before=["tools"]), vault=vault, pause_seconds=5000)
    await paused.invoke(say(f"look up {EVE}"))
    now[0] = 5000
    assert texts(await paused.invoke(None))[-1] == "You said found"
    now[0] = 5099
    assert EVE in str((await open_talk(vault=vault).state()).values)
    now[0] = 5101
    assert EVE not in str((await open_talk(vault=vault).state()).values)


class BrokenVault(InMemoryTurnVault):
    """Is away."""

    def hold(self, turn, values, *, seconds=None):
        raise ConnectionError

    def values(self, turn):
        raise ConnectionError


async def test_a_vault_that_fails_costs_the_values_alone(open_talk, stored, caplog):
    with caplog.at_level(logging.WARNING):
        for text in (f"I am {ANN}", "next"):
            await open_talk(vault=BrokenVault()).invoke(say(text))
    assert len(await stored()) == 5
    assert {record.getMessage() for record in caplog.records if "vault" in record.getMessage()} == {
        "turn_vault_failed doing=hold cause=ConnectionError",
        "turn_vault_failed doing=values cause=ConnectionError",
    }
    assert ANN not in caplog.text


class Listed(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(lambda value, writes: [*value, *(m for w in writes for m in w)])]


async def test_delta_channels_have_the_values(open_talk, stored):
    declared = DeltaChannel(lambda value, writes: [*value, *(m for w in writes for m in w)], list)
    policy = CheckpointPolicy(deltas={"messages": declared})

    def graph(saver):
        builder = StateGraph(Listed)
        builder.add_node("model", lambda state: {"messages": [AIMessage(f"You said {state['messages'][-1].text}")]})
        builder.add_edge(START, "model")
        return builder.compile(checkpointer=saver)

    for text in (f"I am {ANN}", f"and {EVE}", "next"):
        await open_talk(graph, policy).invoke(say(text))
    assert texts((await open_talk(graph, policy).state()).values)[:4] == [
        f"I am {ANN}",
        f"You said I am {ANN}",
        f"and {EVE}",
        f"You said and {EVE}",
    ]
    assert hidden(await stored(make=graph, policy=policy))


async def test_an_entrypoint_has_the_values_of_what_it_returned(rows, open_talk):
    def make(saver):
        @entrypoint(checkpointer=saver)
        def flow(given, *, previous=None):
            return [*(previous or []), *given, AIMessage(f"You said {given[-1].text}")]

        return flow

    await open_talk(make).invoke([HumanMessage(f"I am {ANN}", id="a")])
    result = await open_talk(make).invoke([HumanMessage("next", id="b")])
    assert [m.text for m in result][:2] == [f"I am {ANN}", f"You said I am {ANN}"]
    unseen = await open_talk(make, vault=InMemoryTurnVault()).invoke([HumanMessage("last", id="c")])
    assert hidden([m.text for m in unseen])


@pytest.mark.parametrize("keep", [0, 2])
async def test_turns_that_are_kept_whole_change_no_row(rows, open_talk, stored, keep, monkeypatch):
    monkeypatch.setenv("DISCREET_KEEP_CLOSED", str(keep))
    talk = open_talk()
    await talk.invoke(say(f"I am {ANN}"))
    before = await stored()
    for text in ("next", "last"):
        await talk.invoke(say(text))
        assert (await stored())[:2] == before[:2]
    assert texts((await open_talk().state()).values)[0] == f"I am {ANN}"


def test_the_name_of_a_thread_in_the_vault_tells_nothing():
    assert vault_key("1") != vault_key("2")
    assert vault_key("1", "a") != vault_key("1")
    assert "values-return" not in vault_key("values-return")
    assert Redactor(placeholder_key=bytes(32)).for_thread("1").redact(ANN) != ANN


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("my card is 4111 1111 1111 1111", '{"card": 4111111111111111, "n": 1}'),
        ("call +1 415 555 2671", "tel:+14155552671"),
        ("I am Ann.Lee@example.com", "not ANN.LEE@EXAMPLE.COM, ann.lee@example.com"),
    ],
)
async def test_a_value_comes_back_as_each_message_spells_it(open_talk, stored, first, later):
    talk = open_talk()
    for text in (first, later):
        await talk.invoke(say(text))
    there = texts((await open_talk().state(THREAD)).values)
    assert there == [first, f"You said {first}", later, f"You said {later}"]
    before = await stored()
    assert "<" in before[2][2]
    await open_talk().invoke(say("bye"))
    assert (await stored())[:4] == before[:4], "rows stay as they are"


async def test_a_secret_does_not_come_back_with_another_spelling(open_talk):
    secret = "sk-proj-" + "q7Xb2LmPz9Rt4Wk8" * 3
    talk = open_talk()
    await talk.invoke(say("I am Ann.Lee@example.com"))
    await talk.invoke(say(f"I am ann.lee@example.com, my key is {secret}"))
    assert secret not in str(texts((await open_talk().state(THREAD)).values))
