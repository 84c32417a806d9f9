"""Which rows a checkpoint's messages need, against random histories of a thread."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from discreet.checkpoint.postgres.message_rows import (
    MESSAGE_ROWS,
    NO_ROWS,
    extend,
    note_names,
    plan_rows,
    positions_of,
    take_rows,
)

CHANNEL = "messages"

messages = st.builds(
    lambda kind, text, message_id: kind(text, id=message_id),
    st.sampled_from([HumanMessage, AIMessage]),
    st.sampled_from(["yes", "no", "1 2\n3", ""]),
    st.sampled_from([None, "", "1", "2 3", "\n4"]),
)


@st.composite
def edited(draw, before):
    """What a turn may make of a list: the same objects, new ones, equal ones, others changed, removed or moved."""
    now = list(before)
    for _ in range(draw(st.integers(0, 4))):
        index = draw(st.integers(0, len(now)))
        change = draw(st.sampled_from(["append", "insert", "remove", "replace", "again", "reload", "trim", "swap"]))
        if change == "append":
            now.append(draw(messages))
        elif change == "insert":
            now.insert(index, draw(messages))
        elif change == "remove":
            del now[index : index + 1]
        elif change == "replace":
            now[index : index + 1] = [draw(messages)]
        elif change == "again":
            now.extend(now[index : index + 1])
        elif change == "reload":
            now = [type(message)(message.content, id=message.id) for message in now]
        elif change == "trim":
            now = now[index:]
        else:
            now.reverse()
    return now


def packed(*messages):
    """Return messages `(run, position, kind, id, text)` as `EXPAND_RUNS` packs them; the integration tests hold this against PostgreSQL."""
    heads = " ".join(f"{number} {position} {kind}" for number, position, kind, _, _ in messages)
    return [heads, *(row[3] for row in messages), *(row[4] for row in messages)] if messages else None


class Table:
    """What PostgreSQL would hold."""

    def __init__(self):
        self.rows = {}

    def insert(self, new):
        for row in new:
            assert row.position not in self.rows, "a row is written once"
            self.rows[row.position] = row

    def name(self, named):
        for each in named:
            assert self.rows[each.position].message_id is None
            self.rows[each.position] = self.rows[each.position]._replace(message_id=each.message_id)

    def read(self, runs, channel=CHANNEL):
        column = [
            (number, position, row.kind, row.message_id, row.content)
            for number, (first, last) in enumerate(runs, 1)
            for position in range(first, last + 1)
            if (row := self.rows.get(position))
        ]
        listed = [[channel, *run] for run in runs]
        return take_rows({"checkpoint": {MESSAGE_ROWS: listed}, MESSAGE_ROWS: packed(*column)}).get(channel, NO_ROWS)


@given(st.data())
def test_a_checkpoint_reads_as_it_was_stored_whatever_was_changed(data):
    table, history = Table(), [NO_ROWS]
    for _ in range(data.draw(st.integers(1, 6))):
        parent = data.draw(st.sampled_from(history))  # any: forks too
        if data.draw(st.booleans()):
            parent = table.read(parent.runs)  # another process, which knows what is stored and no more
        value = data.draw(edited(parent.messages))
        planned = plan_rows(CHANNEL, value, parent._replace(top=max(table.rows, default=-1)))
        if planned is None:
            assert value == []
            continue
        rows, new, named = planned
        table.insert(new)
        table.name(named)
        note_names({CHANNEL: parent}, named)
        assert table.read(rows.runs).messages == value
        history.append(rows)
    for rows in history:
        kept = table.read(rows.runs).messages
        same = [(m.type, m.content, m.id and row.id) for m, row in zip(rows.messages, kept, strict=True)]
        assert same == [(m.type, m.content, m.id) for m in rows.messages], "older checkpoints keep their rows"


@given(st.lists(st.integers(0, 30)))
def test_runs_give_back_their_positions(positions):
    runs = []
    extend(runs, positions)
    extend(runs, positions[::-1])
    assert positions_of(runs) == [*positions, *positions[::-1]]


def talk(*texts):
    return [
        (AIMessage if number % 2 else HumanMessage)(text, id=f"{number}-{text}") for number, text in enumerate(texts)
    ]


def test_a_conversation_that_grows_is_one_run_and_writes_what_is_new():
    value, rows = [], NO_ROWS
    for number in range(100):
        value = [*value, HumanMessage("hello", id=str(number))]
        rows, new, _ = plan_rows(CHANNEL, value, rows)
        assert [row.position for row in new] == [number]
    assert rows.runs == [(0, 99)]


def test_a_message_that_came_without_an_id_is_named_and_not_stored_twice():
    rows, *_ = plan_rows(CHANNEL, [HumanMessage("hello"), HumanMessage("hello")], NO_ROWS)
    value = [HumanMessage("hello", id="1"), HumanMessage("hello", id="2"), AIMessage("hi", id="3")]
    after, new, named = plan_rows(CHANNEL, value, rows)
    assert [row.position for row in new] == [2]
    assert [(each.position, each.message_id) for each in named] == [(0, "1"), (1, "2")]
    assert after.runs == [(0, 2)]


def test_an_unchanged_channel_writes_nothing():
    value = talk("a", "b")
    rows, *_ = plan_rows(CHANNEL, value, NO_ROWS)
    assert plan_rows(CHANNEL, value, rows) == (rows, [], [])


def test_a_change_in_the_middle_splits_the_run():
    value = talk("a", "b", "c", "d", "e")
    rows, *_ = plan_rows(CHANNEL, value, NO_ROWS)
    changed = [*value[:2], HumanMessage("other", id=value[2].id), *value[3:]]
    after, new, _ = plan_rows(CHANNEL, changed, rows)
    assert after.runs == [(0, 1), (5, 5), (3, 4)]
    assert [(row.position, row.content) for row in new] == [(5, "other")]


def test_a_removal_in_the_middle_writes_nothing():
    value = talk("a", "b", "c", "d")
    rows, *_ = plan_rows(CHANNEL, value, NO_ROWS)
    after, new, _ = plan_rows(CHANNEL, [value[0], *value[2:]], rows)
    assert (after.runs, new) == ([(0, 0), (2, 3)], [])


def test_equal_messages_are_known_without_being_the_same_objects():
    value = talk("a", "b", "c")
    rows, *_ = plan_rows(CHANNEL, value, NO_ROWS)
    reloaded = [type(message)(message.content, id=message.id) for message in value]
    after, new, _ = plan_rows(CHANNEL, [*reloaded, HumanMessage("d", id="d")], rows)
    assert (after.runs, [row.content for row in new]) == ([(0, 3)], ["d"])


def test_a_message_changed_in_place_gets_a_row_of_its_own():
    value = talk("a", "b")
    rows, *_ = plan_rows(CHANNEL, value, NO_ROWS)
    value[0].content = "changed"
    after, new, _ = plan_rows(CHANNEL, value, rows)
    assert (after.runs, [row.content for row in new]) == ([(2, 2), (1, 1)], ["changed"])


def test_the_number_of_an_erased_message_is_not_given_away():
    found = take_rows(
        {
            "checkpoint": {MESSAGE_ROWS: [[CHANNEL, 0, 2]]},
            MESSAGE_ROWS: packed(*((1, position, "human", None, "hello") for position in (0, 1))),
        }
    )[CHANNEL]
    after, new, _ = plan_rows(CHANNEL, [*found.messages, HumanMessage("next")], found)
    assert (after.runs, [row.position for row in new]) == ([(0, 1), (3, 3)], [3])


def test_several_channels_are_told_apart():
    row = {
        "checkpoint": {"v": 4, MESSAGE_ROWS: [["log", 0, 0], [CHANNEL, 1, 1], ["log", 2, 2]]},
        MESSAGE_ROWS: packed((1, 0, "human", "a", "one"), (2, 1, "ai", None, "two"), (3, 2, "ai", "c", "three")),
    }
    found = take_rows(row)
    assert row == {"checkpoint": {"v": 4}}
    assert found["log"].messages == [HumanMessage("one", id="a"), AIMessage("three", id="c")]
    assert found["log"].runs == [(0, 0), (2, 2)]
    assert found[CHANNEL].messages == [AIMessage("two")]


def test_a_row_of_a_stock_database_has_no_messages():
    assert take_rows({"checkpoint": {"v": 4}, MESSAGE_ROWS: None}) == {}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("text", id="no list"),
        pytest.param(None, id="nothing"),
        pytest.param((HumanMessage("a"),), id="a tuple"),
        pytest.param([], id="an empty list"),
        pytest.param([HumanMessage("a"), {"role": "user", "content": "b"}], id="a dict"),
        pytest.param([SystemMessage("a")], id="system"),
        pytest.param([ToolMessage("a", tool_call_id="1")], id="tool"),
        pytest.param([RemoveMessage(id="1")], id="removal"),
        pytest.param([HumanMessageChunk("a")], id="chunk"),
        pytest.param([HumanMessage([{"type": "text", "text": "a"}])], id="blocks"),
        pytest.param([HumanMessage("a", name="Anna")], id="name"),
        pytest.param([HumanMessage("a", additional_kwargs={"k": 1})], id="kwargs"),
        pytest.param([HumanMessage("a", extra=1)], id="extra field"),
        pytest.param([AIMessage("a", response_metadata={"model": "m"})], id="response metadata"),
        pytest.param([AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}])], id="tool calls"),
        pytest.param(
            [AIMessage("a", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2})], id="usage"
        ),
        pytest.param([HumanMessage("a\0b")], id="NUL"),
        pytest.param([HumanMessage("a\ud800b")], id="half a character"),
        pytest.param([HumanMessage("a", id="1\0")], id="NUL in the id"),
    ],
)
def test_anything_else_is_no_matter_of_rows(value):
    assert plan_rows(CHANNEL, value, NO_ROWS) is None


def test_a_stored_conversation_with_something_else_at_its_end_is_no_matter_of_rows_either():
    value = talk("a", "b")
    rows, *_ = plan_rows(CHANNEL, value, NO_ROWS)
    assert plan_rows(CHANNEL, [*value, ToolMessage("c", tool_call_id="1")], rows) is None
