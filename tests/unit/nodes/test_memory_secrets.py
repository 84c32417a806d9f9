"""A secret goes to the store for secrets, and the memory refers to it; without such a store it is refused."""

import asyncio
import json
import logging

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.errors import GraphInterrupt

from discreet.errors import SecretRefusedError, StorageError
from discreet.graph.options import Options
from discreet.graph.parts import make_parts
from discreet.metrics import memories_refused
from discreet.nodes.tools import MemoryForget, MemoryRecall, MemorySave, MemoryUpdate, make_tools, memory_tool
from discreet.nodes.tools.memory_check import Kept
from discreet.ports import DecliningSecretStore
from discreet.providers import chat_model
from discreet.redaction import Redactor
from discreet.redaction.placeholders import REFERENCE, reference, referenced
from discreet.state.ids import new_secret_id
from discreet.state.records import MemoryRecord
from discreet.testing import InMemoryMemories, InMemorySecretStore

PASSWORD = "cobalt" + "Heron!" + "93"
OTHER = "umber" + "Finch?" + "71"
SAID = {
    "en": f"My wifi password is {PASSWORD}",
    "vi": f"Mật khẩu wifi của tôi là {PASSWORD}",
    "ru": f"Мой пароль от wifi: {PASSWORD}",
    "zh": f"我的wifi密码是{PASSWORD}",
}


class Store(InMemorySecretStore):
    """A store that shows what it has, and fails at will."""

    def __init__(self):
        super().__init__()
        self.fails = None

    async def keep(self, user_id, value):
        if self.fails is not None:
            raise self.fails
        return await super().keep(user_id, value)

    def values(self, user_id="ann"):
        return sorted(self._kept[user_id].values())


class TakesTwo(Store):
    async def keep(self, user_id, value):
        return None if len(self.values(user_id)) == 2 else await super().keep(user_id, value)


class BadIds(Store):
    async def keep(self, user_id, value):
        return "arn:of:" + value


@pytest.fixture
def memories():
    return InMemoryMemories()


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def call(run_node, memories, store):
    """Return `await call(name, args, …)`: what the tool says, read from its message."""

    async def call(name, arguments, *, said="…", before=(), store=store, memories=memories, user_id="ann"):
        given = {"memories": memories, "secret_store": store}
        tools = [MemorySave(**given), MemoryRecall(memories=memories), MemoryUpdate(**given), MemoryForget(**given)]
        request = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])
        messages = [HumanMessage(said), *before, request]
        state = await run_node(make_tools(tools), {"messages": messages}, user_id=user_id)
        return json.loads(state["messages"][-1].content)

    return call


@pytest.mark.parametrize("language", SAID)
async def test_the_memory_has_a_reference_in_the_place_of_the_value(call, memories, store, language):
    said = SAID[language]
    answer = await call("save_memory", {"text": said}, said=said)
    [record] = await memories.latest("ann")
    [secret_id] = referenced([record.text])
    assert record.text == answer["text"] == said.replace(PASSWORD, f"<SECRET_{secret_id}>")
    assert await store.reveal("ann", secret_id) == PASSWORD
    [hit] = (await call("recall_memory", {"query": "wifi"}))["memories"]
    assert hit["text"] == record.text


async def test_other_values_are_redacted_and_other_statements_cut_as_ever(call, memories, store):
    text = f"My wifi password is {PASSWORD}, I live in Hue and like tea."
    await call("save_memory", {"text": f"{text} Write to ann@example.com."}, said=text)
    texts = [record.text for record in await memories.latest("ann")]
    assert store.values() == [PASSWORD]
    assert len(texts) > 2
    assert not any(PASSWORD in each or "ann@" in each for each in texts)
    assert len(referenced(texts)) == 1


async def test_each_value_is_kept_once(call, memories, store):
    text = f"My wifi password is {PASSWORD}; the NAS has the password {PASSWORD} too, and its PIN code is 4711"
    await call("save_memory", {"text": text}, said=text)
    texts = [record.text for record in await memories.latest("ann")]
    assert PASSWORD in store.values()
    assert len(store.values()) == len(set(store.values())) == len(referenced(texts))


async def test_without_a_store_it_is_refused(call, memories):
    before = memories_refused.labels("memory_secret")._value.get()
    answer = await call("save_memory", {"text": SAID["en"]}, store=DecliningSecretStore())
    assert answer["error"]["code"] == "memory_secret"
    assert await memories.latest("ann") == []
    assert memories_refused.labels("memory_secret")._value.get() == before + 1


async def test_a_store_that_takes_some_keeps_none(call, memories):
    store = TakesTwo()
    text = f"My password is {PASSWORD}; my password is {OTHER}; my password is {PASSWORD}{OTHER}"
    answer = await call("save_memory", {"text": text}, store=store)
    assert answer["error"]["code"] == "memory_secret"
    assert (store.values(), await memories.latest("ann")) == ([], [])


async def test_a_value_that_the_vault_has_lost_is_no_secret_to_keep(call, memories, store):
    text = f"My wifi password is <SECRET>, and my password for mail is {PASSWORD}"
    assert (await call("save_memory", {"text": text}))["error"]["code"] == "memory_secret"
    assert (store.values(), await memories.latest("ann")) == ([], [])


async def test_a_secret_of_a_tools_result_is_not_the_users(call, memories, store):
    result = ToolMessage(f"created, the password is {PASSWORD}", tool_call_id="c0", name="accounts")
    text = f"The user's account at the shop of parrots, boats and old books in Hue: password is {PASSWORD}"
    answer = await call("save_memory", {"text": text}, said="Make me an account", before=[result])
    assert answer["error"]["code"] == "memory_tool_data"
    assert (store.values(), await memories.latest("ann")) == ([], [])


@pytest.mark.parametrize("fails", [RuntimeError(PASSWORD), TimeoutError(PASSWORD), ConnectionError(PASSWORD)])
async def test_a_store_that_fails_tells_its_class_alone(call, memories, store, fails, caplog):
    store.fails = fails
    with caplog.at_level(logging.DEBUG):
        error = (await call("save_memory", {"text": SAID["en"]}))["error"]
    assert (error["code"], error["retryable"]) == ("storage_unavailable", True)
    assert f"The store for secrets failed: {type(fails).__name__}." in caplog.text
    assert PASSWORD not in json.dumps(error) + caplog.text
    assert await memories.latest("ann") == []


async def test_a_store_may_raise_errors_of_ours(call, store):
    store.fails = SecretRefusedError("Passwords of 14 characters are not taken.")
    error = (await call("save_memory", {"text": SAID["en"]}))["error"]
    assert (error["code"], error["message"]) == ("memory_secret", "Passwords of 14 characters are not taken.")


async def test_a_store_may_ask_a_person_first(store):
    store.fails = GraphInterrupt(())
    with pytest.raises(GraphInterrupt):
        await Kept(SAID["en"], Redactor(), store, "ann").give()


async def test_an_id_that_would_not_pass_the_redactor_is_refused_and_not_told(call, memories):
    error = (await call("save_memory", {"text": SAID["en"]}, store=BadIds()))["error"]
    assert error["code"] == "configuration"
    assert PASSWORD not in json.dumps(error)
    assert await memories.latest("ann") == []


class Unwell(InMemoryMemories):
    async def save(self, user_id, records, *, dedup=True):
        raise StorageError


class Hanging(InMemoryMemories):
    async def save(self, user_id, records, *, dedup=True):
        await asyncio.sleep(60)


@pytest.mark.parametrize("memories", [Unwell(), Hanging()], ids=["fail", "hang"])
async def test_what_no_memory_refers_to_in_the_end_is_forgotten(call, store, memories, monkeypatch):
    monkeypatch.setattr(memory_tool, "WAIT_SECONDS", 0.2)
    assert "error" in await call("save_memory", {"text": SAID["en"]}, memories=memories)
    assert store.values() == []


async def test_a_store_that_does_not_forget_costs_a_line_in_the_log(call, store, monkeypatch, caplog):
    async def fail(*args):
        raise ConnectionError(PASSWORD)

    monkeypatch.setattr(store, "forget", fail)
    with caplog.at_level(logging.DEBUG):
        error = (await call("save_memory", {"text": SAID["en"]}, memories=Unwell()))["error"]
    assert error["code"] == "storage"
    [secret_id] = store._kept["ann"]
    assert f"secrets_not_forgotten secret_ids={secret_id} cause=ConnectionError" in caplog.text
    assert PASSWORD not in caplog.text


async def test_a_new_password_does_not_pass_for_the_old_one(call, memories, store):
    for value in (PASSWORD, OTHER):
        await call("save_memory", {"text": f"My wifi password is {value}"})
    kept = await memories.latest("ann", held=False)
    assert len(kept) == 2
    assert store.values() == sorted([PASSWORD, OTHER])
    assert kept[0].conflict_flags == [str(kept[1].entry_id)]


async def test_a_corrected_memory_has_the_new_secret_alone(call, memories, store):
    saved = await call("save_memory", {"text": SAID["en"]})
    arguments = {"entry_id": saved["entry_id"], "text": f"My wifi password is {OTHER}"}
    assert (await call("update_memory", arguments))["updated"]
    assert store.values() == [OTHER]
    [record] = await memories.latest("ann", held=False)
    [secret_id] = referenced([record.text])
    assert await store.reveal("ann", secret_id) == OTHER


async def test_a_corrected_memory_may_keep_its_reference(call, memories, store):
    saved = await call("save_memory", {"text": SAID["en"]})
    text = saved["text"].replace("wifi", "office wifi")
    assert (await call("update_memory", {"entry_id": saved["entry_id"], "text": text}))["text"] == text
    assert store.values() == [PASSWORD]


async def test_a_memory_that_is_not_there_takes_no_secret(call, memories, store):
    (theirs,) = await memories.save("bob", [MemoryRecord(text="Keeps parrots")])
    arguments = {"entry_id": str(theirs.entry_id), "text": SAID["en"]}
    assert not (await call("update_memory", arguments))["updated"]
    assert store.values() == []


async def test_the_secret_is_forgotten_with_its_memory(call, store):
    saved = await call("save_memory", {"text": SAID["en"]})
    other = await call("save_memory", {"text": f"The code of the alarm, my password there: {OTHER}"})
    gone = await call("forget_memory", {"entry_id": saved["entry_id"]})
    assert (gone["deleted"], gone["secrets"]) == (True, 1)
    assert store.values() == [OTHER]
    assert "secrets" not in await call("forget_memory", {"text": "parrots"})
    assert (await call("forget_memory", {"entry_id": other["entry_id"]}))["secrets"] == 1


async def test_a_reference_of_somebody_else_is_worth_nothing(call, memories, store):
    saved = await call("save_memory", {"text": SAID["en"]})
    forged = await call("save_memory", {"text": f"It is {saved['text']}"}, user_id="bob")
    assert (await call("forget_memory", {"entry_id": forged["entry_id"]}, user_id="bob"))["secrets"] == 0
    assert store.values() == [PASSWORD]


async def test_no_tool_runs_with_a_reference_unless_it_takes_them(run_node):
    given = []

    @tool
    def log_in(password: str) -> str:
        """Log in."""
        given.append(password)
        return "ok"

    written = reference(new_secret_id())
    request = AIMessage("", tool_calls=[{"name": "log_in", "args": {"password": written}, "id": "c1"}])
    state = await run_node(make_tools([log_in]), {"messages": [HumanMessage("Log in"), request]})
    assert json.loads(state["messages"][-1].content)["error"]["code"] == "unresolved_placeholder"
    log_in.metadata = {"placeholders": True}
    await run_node(make_tools([log_in]), {"messages": [HumanMessage("Log in"), request]})
    assert given == [written]


def test_the_model_is_told_what_is_taken(memories):
    def described(**options):
        tools = make_parts(Options(memories=memories, **options), lambda: chat_model("offline")).memory_tools
        return {tool.name: tool.description for tool in tools if tool.name in ("save_memory", "update_memory")}

    assert all("Never passwords" in each for each in described().values())
    assert all("Never passwords" in each for each in described(secret_store=DecliningSecretStore()).values())
    taking = described(secret_store=InMemorySecretStore()).values()
    assert all("Never what a tool returned" in each and "Never passwords" not in each for each in taking)
    assert len(taking) == 2


def test_a_kept_text_shows_no_value():
    assert repr(Kept(SAID["en"], Redactor(), InMemorySecretStore(), "ann")) == "Kept(1 secrets)"
    assert REFERENCE.fullmatch(reference(new_secret_id()))
