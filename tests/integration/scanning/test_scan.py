"""A scan of PostgreSQL finds what real graphs have stored, in every shape, and reports nothing else."""

from __future__ import annotations

from collections import Counter
from itertools import count

import psycopg
import pytest
from kit.places import snapshot
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from testkit.planting.planting import plant_beside, sizes
from testkit.scanning import (
    COUNTED,
    RecordingRedactor,
    counts,
    leaks,
    misreported,
    missed,
    scan,
    threads_of,
    values_of,
)

from discreet.cli.scan_table import print_report
from discreet.redaction import Redactor
from discreet.scanning import Scanner, open_database
from discreet.scanning.messages import ENCRYPTED, KINDS, MEDIA, PICKLES, RUNNABLE_PICKLES
from discreet.scanning.page import render

SHAPES = (
    "agent_arguments", "agent_message", "ai_message", "assistant_config", "assistant_context",
    "assistant_description", "assistant_metadata", "auth_user", "base64_file", "bytes", "command_update",
    "configurable", "cron_payload", "dataclass", "delta_write", "deque", "dict_key", "entrypoint_previous",
    "exception", "file_name", "forked_message", "human_message", "image_url", "inline_channel",
    "interrupt_payload", "ip_object", "long_tool_result", "mem0_payload", "mem0_user", "message_kwargs",
    "message_store", "named_tuple", "nested_json", "nested_list", "numpy_text", "path", "pickle_object",
    "pydantic", "reasoning", "removed_message", "response_metadata", "resume_text", "run_command", "run_input",
    "run_metadata", "secret_str", "send_packet", "server_error", "server_interrupt", "server_values",
    "session_id", "set", "store_key", "store_namespace", "store_value", "subgraph_state", "system_message",
    "task_result", "thread_id", "thread_metadata", "tool_args", "tool_artifact", "tool_result", "tuple",
    "typed_dict", "updated_message", "user_id", "webhook",
)  # fmt: skip

BLOB = "INSERT INTO checkpoint_blobs (thread_id, channel, version, type, blob) VALUES (%s, %s, %s, %s, %s)"
STORE = "CREATE TABLE store (prefix text, key text, value jsonb, PRIMARY KEY (prefix, key))"
MAIL, OTHER_MAIL, CARD = "ann@example.com", "bob@example.com", "4111 1111 1111 1111"


@pytest.fixture(scope="module")
def scanned(plant, apart):
    """Return the report of a database, what was found, and what is in it. The scan has changed nothing."""
    dsn, entries = plant
    redactor = RecordingRedactor()
    before = snapshot(dsn)
    report = scan(dsn, redactor=redactor)
    assert snapshot(dsn) == before
    return report, redactor.spans, entries


@pytest.mark.dialect
@pytest.mark.parametrize("shape", SHAPES)
def test_values_of_every_shape_are_found_as_what_they_are(scanned, shape):
    _, spans, entries = scanned
    of_shape = [entry for entry in values_of(entries) if entry.shape == shape]
    assert of_shape
    assert [(entry.type, entry.value) for entry in missed(of_shape, spans)] == []


def test_every_shape_that_is_planted_is_tried(scanned):
    _, _, entries = scanned
    assert {entry.shape for entry in values_of(entries)} == set(SHAPES)


def test_no_harmless_text_is_reported(scanned):
    _, spans, entries = scanned
    assert misreported(entries, spans) == []


def test_all_rows_of_all_tables_of_agents_are_read(scanned, plant):
    report, _, _ = scanned
    there = {name: rows for name, (rows, _) in sizes(plant[0]).items() if not name.endswith("_migrations")}
    assert {table.table: table.rows for table in report.tables} == there
    assert report.not_scanned == {}  # tables that say which version others have are no news
    assert report.unreadable == 0
    assert report.errors == []


def test_kinds_of_things_are_counted(scanned):
    report, _, entries = scanned
    assert set(report.kinds) == set(KINDS) - {RUNNABLE_PICKLES}
    graphs = Counter(thread.graph for thread in threads_of(entries))
    assert report.kinds[PICKLES] >= graphs["pickled"]
    assert report.kinds[ENCRYPTED] >= graphs["encrypted"]
    assert report.kinds[MEDIA] >= 3 * graphs["media"]


def test_what_threads_take_is_told(scanned):
    report, _, entries = scanned
    threads = threads_of(entries)
    assert report.usage is not None
    assert report.usage.threads == len(threads)
    assert report.usage.open_threads == sum(thread.state != "over" for thread in threads)
    assert sum(step.threads for step in report.usage.growth) == len(threads)
    assert 0 < report.usage.prunable_bytes < report.usage.bytes


@pytest.mark.slow
def test_no_output_has_a_value_or_the_id_of_a_thread(scanned, capsys):
    report, _, entries = scanned
    print_report(report)
    for told in (report.model_dump_json(), render(report), capsys.readouterr().out):
        assert "EMAIL" in told
        assert leaks(told, entries) == []


def by_hand(dsn):
    """Fill a stock saver's tables with a few rows."""
    serializer = JsonPlusSerializer()
    said = [SystemMessage("Help."), HumanMessage(f"Write to {MAIL}, not to {OTHER_MAIL}.", id="m1")]
    call = {"name": "look_up", "args": {"who": OTHER_MAIL}, "id": "c1", "type": "tool_call"}
    worked = [*said, AIMessage("", tool_calls=[call]), ToolMessage(f"Paid with {CARD}.", tool_call_id="c1")]
    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
    with psycopg.connect(dsn) as connection:
        for thread, version, value in (("t1", "1", said), ("t1", "2", worked), ("t2", "1", said)):
            connection.execute(BLOB, [thread, "messages", version, *serializer.dumps_typed(value)])
        connection.execute(BLOB, [MAIL, "messages", "1", *serializer.dumps_typed(["nothing"])])
        connection.execute(BLOB, [MAIL, "notes", "1", "msgpack+aes", b"\x00\x01"])
        connection.execute(BLOB, [MAIL, "notes", "2", "msgpack", b"\xc1"])


def test_counts_are_exact(empty_database):
    by_hand(empty_database)
    report = scan(empty_database)
    (blobs,) = [table for table in report.tables if table.table == "checkpoint_blobs"]
    assert (blobs.rows, blobs.label, blobs.in_ids) == (6, "channel values", {"EMAIL": 1})
    assert {name: tuple(count.model_dump().values()) for name, count in blobs.types.items()} == {
        "EMAIL": (7, 3, 2),
        "CARD": (1, 1, 1),
    }
    assert blobs.kinds == {
        "system prompts": 3,
        "user messages": 3,
        "model messages": 1,
        "tool calls": 1,
        "tool results": 1,
        ENCRYPTED: 1,
    }
    assert blobs.unreadable == 1
    (error,) = report.errors
    assert (error.table, error.column, error.reason) == ("checkpoint_blobs", "blob", "no whole msgpack")
    assert report.types == {"EMAIL": 7, "CARD": 1}
    assert report.rows == 6


@pytest.mark.slow
def test_rows_that_come_meanwhile_are_not_counted(small_copy):
    dsn, _ = small_copy
    expected = counts(scan(dsn))
    numbers = count()

    def write(*_):
        with psycopg.connect(dsn) as other:
            other.execute(BLOB, [f"new {next(numbers)}", "a", "1", "msgpack", b"\xafann@example.com"])
            other.execute("DELETE FROM store")

    database = open_database(dsn)
    try:
        found = counts(Scanner(database, Redactor(), told=write).scan())
    finally:
        database.close()
    assert next(numbers) > 5
    for table in (*found["tables"], *expected["tables"]):
        table.pop("bytes")  # on disk, of which there is no snapshot
    assert found == expected


@pytest.mark.slow
@pytest.mark.dialect
def test_a_sample_is_of_whole_threads(plant):
    dsn, entries = plant
    redactor = RecordingRedactor()
    report = scan(dsn, redactor=redactor, sample=0.3)
    assert report.sample == 0.3
    assert counts(scan(dsn, sample=0.3)) == counts(report)
    own = {thread.thread_id for thread in threads_of(entries)}
    of_threads = [each for each in values_of(entries) if each.thread_id in own and each.shape not in COUNTED]
    missing = {entry.value for entry in missed(of_threads, redactor.spans)}
    whole = Counter(entry.thread_id for entry in of_threads)
    gone = Counter(entry.thread_id for entry in of_threads if entry.value in missing)
    assert 0 < len(gone) < len(whole)
    assert {thread: whole[thread] for thread in gone} == dict(gone)


@pytest.mark.slow
@pytest.mark.direct("a pooler is before one of them")
@pytest.mark.parametrize("where", ["pooler", "standby"])
def test_it_works_behind_a_pooler_and_where_nothing_may_be_written(small, where, request):
    dsn, _ = small
    expected = counts(scan(dsn))
    found = counts(scan(request.getfixturevalue(where)))
    assert found["tables"] == expected["tables"]
    assert found["usage"] == expected["usage"]


@pytest.mark.slow
@pytest.mark.dialect
def test_tables_of_another_agent_server(empty_database):
    entries = plant_beside(empty_database, 24, count(), seed=3, shape="aegra")
    redactor = RecordingRedactor()
    report = scan(empty_database, redactor=redactor)
    assert missed(entries, redactor.spans) == []
    assert misreported(entries, redactor.spans) == []
    assert {table.label for table in report.tables} >= {"of a server", "runs of a server", "memories with vectors"}
    assert report.usage is None
