import copy
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Interrupt, Send

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver, ScratchLimits
from discreet.checkpoint.channels import BUMPS, disarmed, is_quiescent, started_by_value
from discreet.checkpoint.filter import REDACTED, filter_checkpoint, filter_metadata, filter_writes
from discreet.checkpoint.messages import Turn
from discreet.errors import ConfigurationError


def checkpoint(**values):
    made = empty_checkpoint()
    made["channel_values"] = values
    made["channel_versions"] = dict.fromkeys(values, "1.5")
    made["versions_seen"] = {"node": {"branch:to:node": "1.5"}}
    return made


def stored(made, policy, *, closed=True):
    return filter_checkpoint(made, policy, turn=Turn.OVER if closed else Turn.OPEN)


def test_channels_nobody_named_are_dropped_and_their_versions_stay(policy):
    made = checkpoint(messages=[], request={"raw": 1}, note="raw")
    filtered = stored(made, policy)
    assert filtered.build()["channel_values"] == {"messages": []}
    assert filtered.build()["channel_versions"] == made["channel_versions"]
    assert (filtered.complete, filtered.dropped) == (False, 2)


def test_filtering_changes_nothing_it_is_given_and_is_idempotent(policy):
    made = checkpoint(
        messages=[HumanMessage("I am anna@example.com", id="mine"), AIMessage("hello", id=str(uuid4()))],
        locale={"mail": ["anna@example.com"]},
        request={"raw": 1},
    )
    before = copy.deepcopy(made)
    once = stored(made, policy).build()
    assert made == before
    assert stored(once, policy).build() == once
    assert once["channel_values"]["locale"] == {"mail": ["<EMAIL>"]}


def test_redacting_is_not_dropping(policy):
    assert stored(checkpoint(messages=[HumanMessage("anna@example.com")]), policy).complete


def test_a_checkpoint_has_nothing_beside_what_the_engine_needs(policy):
    made = {**checkpoint(messages=[]), "pending_sends": ["raw"], "extra": "raw"}
    assert stored(made, policy).build().keys() == {
        "v",
        "id",
        "ts",
        "channel_values",
        "channel_versions",
        "versions_seen",
        "updated_channels",
    }


@pytest.mark.parametrize(
    "value", [object(), ToolMessage("x", tool_call_id="1"), {"x": {1: object()}}, float("nan"), b"x"]
)
def test_an_allowed_channel_holds_plain_data_or_nothing(policy, value):
    filtered = stored(checkpoint(locale=value), policy)
    assert filtered.build()["channel_values"] == {}
    assert not filtered.complete


def test_a_messages_text_is_text(policy):
    value = stored(checkpoint(locale=[HumanMessage("I am anna@example.com").text]), policy).build()["channel_values"]
    assert value == {"locale": ["I am <EMAIL>"]}
    assert type(value["locale"][0]) is str


def test_text_that_postgres_cannot_hold_never_passes():
    filtered = stored(checkpoint(locale="a\0b\ud800"), CheckpointPolicy(channels={"locale": KEEP}))
    value = filtered.build()["channel_values"]["locale"]
    assert value.startswith("ab")
    assert value.encode()


def test_of_the_input_only_messages_and_allowed_channels_are_stored(policy):
    made = checkpoint(__start__={"messages": [("user", "anna@example.com")], "secret": "raw", "locale": "vi"})
    filtered = stored(made, policy)
    value = filtered.build()["channel_values"]["__start__"]
    assert [message.text for message in value["messages"]] == ["<EMAIL>"]
    assert value.keys() == {"messages", "locale"}
    assert not filtered.complete


def test_an_input_that_is_no_mapping_is_not_stored(policy):
    assert stored(checkpoint(__start__="raw"), policy).build()["channel_values"] == {}


@pytest.mark.parametrize(
    ("ns", "kept"),
    [
        ("", True),
        ("writer", True),
        ("writer:1234", True),
        ("team:1|critic:2|3", True),
        ("team", False),
        ("critic", False),
    ],
)
def test_of_subgraphs_those_that_are_named_are_stored(ns, kept):
    assert CheckpointPolicy(subgraphs=("writer", "team|critic")).keeps(ns) is kept


@pytest.mark.parametrize("wrong", [{"messages": "messages"}, {"subgraphs": "writer"}, {"direct_tools": "look_up"}])
def test_a_text_where_several_names_are_wanted_is_refused(wrong):
    with pytest.raises(ConfigurationError, match=r"write \w+=\('\w+',\)"):
        CheckpointPolicy(**wrong)


def test_triggers_pass_only_as_the_engine_makes_them(policy):
    made = checkpoint(**{"branch:to:a": None, "branch:to:b": "raw", "join:a+b:c": {"a"}, "join:a+b:d": {"raw"}})
    assert stored(made, policy).build()["channel_values"] == {"branch:to:a": None, "join:a+b:c": {"a"}}


def test_sends_are_dropped(policy):
    assert not stored(checkpoint(__pregel_tasks=[Send("tools", "raw")]), policy).complete
    assert stored(checkpoint(__pregel_tasks=[]), policy).complete


def test_from_an_inert_checkpoint_no_node_starts(policy):
    made = checkpoint(messages=[HumanMessage("hi")], **{"branch:to:a": None, "join:a:b": {"a"}})
    made["channel_versions"] = {"messages": 3, "branch:to:a": 4, "join:a:b": 5}
    inert = disarmed(stored(made, policy).build(), lambda current, _: current + 1)
    assert inert["channel_values"].keys() == {"messages"}
    assert inert["channel_versions"] == {"messages": 3, "branch:to:a": 6, "join:a:b": 6}


@pytest.mark.parametrize(
    ("seen", "node"),
    [
        ({"__start__": {"__start__": 1}, "a": {"branch:to:a": 2, "join:a+b:c": 1, "__pregel_tasks": 1}}, None),
        ({"__interrupt__": {"messages": 1}, "__input__": {"messages": 1}}, None),
        ({"a": {"start:a": 1, "branch:b:route:a": 1, "b": 1}, "b": {}}, None),  # of LangGraph before 0.4
        ({"a": {"gone": 1}}, None),
        ({"a": {"messages": 1}, "__start__": {"messages": 1}, BUMPS: {"a|messages": 1, "__start__|messages": 1}}, None),
        ({"a": {"messages": 1}, BUMPS: {"b|messages": 1}}, "a"),
        ({"a": {"branch:to:a": 1}, "b": {"messages": 1}}, "b"),
    ],
)
def test_a_node_that_an_ordinary_channel_has_started_is_found(seen, node):
    made = checkpoint()
    made["channel_versions"] = dict.fromkeys(["messages", "start:a", "branch:b:route:a", "b"], 1)
    made["versions_seen"] = seen
    assert started_by_value(made) == node


@pytest.mark.parametrize(
    ("values", "quiescent"),
    [
        ({"messages": ["x"], "__pregel_tasks": [], "join:a+b:c": {"a"}}, True),
        ({"branch:to:a": None}, False),
        ({"__start__": {}}, False),
        ({"__pregel_tasks": ["send"]}, False),
        ({"join:a+b:c": {"a", "b"}}, False),
        ({"join:a+b:c": ({"a", "b"}, False)}, False),
    ],
)
def test_a_turn_is_over_when_no_node_is_about_to_run(values, quiescent):
    assert is_quiescent(values) is quiescent


def test_a_task_with_one_output_too_private_stores_none(policy):
    writes = [("locale", "vi"), ("request", "raw"), ("branch:to:a", None)]
    assert filter_writes(writes, policy) == []
    assert filter_writes([("locale", "vi"), ("branch:to:a", None)], policy) == [
        ("locale", "vi"),
        ("branch:to:a", None),
    ]


def test_an_answer_is_not_stored_as_a_write(policy):
    assert filter_writes([("messages", [AIMessage("answer")])], policy) == []


def test_of_an_error_the_class_name_is_stored(policy):
    assert filter_writes([("__error__", ValueError("raw"))], policy) == [("__error__", "ValueError")]


def test_of_an_interrupt_the_id_is_stored(policy):
    ((_, stored_interrupt),) = filter_writes([("__interrupt__", (Interrupt("raw", id="7"),))], policy)
    assert stored_interrupt == (Interrupt(REDACTED, id="7"),)


def test_an_interrupts_own_id_is_replaced_by_one_that_stays(policy):
    ((_, (first,)),) = filter_writes([("__interrupt__", (Interrupt("q", id="raw id"),))], policy)
    ((_, (again,)),) = filter_writes([("__interrupt__", (first,))], policy)
    assert "raw" not in first.id
    assert again.id == first.id


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        *[(True, True), (None, True), ("Approve", True)],
        *[("it is Anna", False), (2, False), (4711, False), (3.5, False)],
    ],
)
def test_only_harmless_answers_are_stored(policy, answer, kept):
    assert filter_writes([("__resume__", answer)], policy) == ([("__resume__", answer)] if kept else [])
    assert filter_writes([("__resume__", [answer])], policy) == ([("__resume__", [answer])] if kept else [])


def test_of_several_answers_one_that_tells_of_a_person_keeps_all_out(policy):
    assert filter_writes([("__resume__", ["yes", "it is Anna"])], policy) == []


def test_metadata_is_the_engines_and_what_the_policy_names():
    run_id = str(uuid4())
    config = {"configurable": {"thread_id": "1", "api_key": "raw", "plan": "free"}, "metadata": {"tenant": "raw"}}
    parents = {"": str(uuid4())}
    metadata = {"source": "loop", "step": 3, "parents": parents, "run_id": run_id, "writes": "raw"}
    policy = CheckpointPolicy(metadata={"plan": KEEP})
    assert filter_metadata(config, metadata, policy) == {
        "source": "loop",
        "step": 3,
        "parents": parents,
        "run_id": run_id,
        "plan": "free",
    }
    forged = {"source": "raw", "step": "raw", "parents": {"": "raw"}, "run_id": "anna@example.com"}
    assert filter_metadata(config, forged, policy) == {"parents": {}, "plan": "free"}
    longer = {"parents": {"": f"{uuid4()} anna"}, "run_id": f"{uuid4()} anna"}
    assert filter_metadata(config, longer, policy) == {"parents": {}, "plan": "free"}


def test_a_policy_cannot_name_channels_of_the_engine():
    with pytest.raises(ConfigurationError, match="__start__"):
        CheckpointPolicy(channels={"__start__": KEEP})
    with pytest.raises(ConfigurationError, match="two rules"):
        CheckpointPolicy(channels={"messages": KEEP})


@pytest.mark.parametrize(
    "make",
    [
        lambda: CheckpointPolicy(channels={"locale": "keep"}),
        lambda: CheckpointPolicy(channels=["locale"]),
        lambda: CheckpointPolicy(deltas={"files": 1}),
        lambda: ScratchLimits(keep_closed=-1),
        lambda: ScratchLimits(ttl_seconds="an hour"),
        lambda: RedactingSaver(InMemorySaver(), pause_seconds=0),
        lambda: RedactingSaver(InMemorySaver(), scratch=20),
        lambda: RedactingSaver(InMemorySaver(), history_ttl=-1),
        lambda: RedactingSaver(InMemorySaver(), policy={}),
        lambda: RedactingSaver("postgresql:///"),
    ],
)
def test_arguments_that_can_mean_nothing_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()
