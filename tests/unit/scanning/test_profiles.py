import pytest

from discreet.scanning.profiles import ANY, BLOBS, CHECKPOINTS, KNOWN, OURS, WRITES, profile_of

SAVER = {"thread_id", "checkpoint_ns"}
TABLES = {
    "checkpoints": (SAVER | {"checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata"}, CHECKPOINTS),
    "checkpoint_blobs": (SAVER | {"channel", "version", "type", "blob"}, BLOBS),
    "checkpoint_blobs of a shallow saver": (SAVER | {"channel", "type", "blob"}, BLOBS),
    "checkpoint_writes": (SAVER | {"checkpoint_id", "task_id", "idx", "channel", "type", "blob", "task_path"}, WRITES),
    "writes of SQLite": (SAVER | {"checkpoint_id", "task_id", "idx", "channel", "type", "value"}, WRITES),
    "store": ({"prefix", "key", "value", "created_at", "updated_at"}, "store"),
    "store_vectors": ({"prefix", "key", "field_name", "embedding"}, "vectors of the store"),
    "run": ({"run_id", "thread_id", "assistant_id", "kwargs"}, "runs of a server"),
    "thread": ({"thread_id", "status", "metadata", "values"}, "threads of a server"),
    "assistant": ({"assistant_id", "graph_id", "config"}, "of a server"),
    "agent_messages": ({"id", "session_id", "message_data"}, "messages of sessions"),
    "message_store": ({"id", "session_id", "message"}, "messages of sessions"),
    "mem0": ({"id", "vector", "payload"}, "memories with vectors"),
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_known_by_their_columns(table):
    columns, label = TABLES[table]
    assert profile_of(columns, schema="public", has_vectors=False).label == label
    assert profile_of(columns | {"tenant", "note"}, schema="any", has_vectors=True).label == label


def test_what_has_nothing_to_do_with_agents_is_not_known():
    assert profile_of({"id", "mail", "total"}, schema="public", has_vectors=False) is None
    assert profile_of({"id", "mail", "embedding"}, schema="public", has_vectors=True) is ANY


def test_tables_of_discreet_are_known_by_their_schema():
    assert profile_of({"id", "mail"}, schema="discreet", has_vectors=True) is OURS


@pytest.mark.parametrize("profile", KNOWN, ids=lambda profile: f"{profile.label} {sorted(profile.needs)}")
def test_what_a_profile_names_is_among_what_it_needs_or_may_be_absent(profile):
    if profile.thread is not None:
        assert profile.thread in profile.needs
    assert profile.told <= profile.engine
    assert not profile.engine & set(profile.typed)


def test_what_the_engine_makes_is_not_read_but_for_what_it_says_of_others():
    profile = profile_of(TABLES["checkpoint_blobs"][0], schema="public", has_vectors=False)
    assert {name: profile.reads(name) for name in ("blob", "channel", "type", "version")} == {
        "blob": True,
        "channel": True,
        "type": True,
        "version": False,
    }
