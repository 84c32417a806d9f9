"""Deletion by run, copies and pruning over LangGraph's savers that lack them, in both faces, and when a call fails."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from discreet.checkpoint.checkpoint_ref import bare, locate
from discreet.checkpoint.maintenance import Maintenance
from discreet.checkpoint.tripwire import TripwireSerializer
from discreet.errors import LeakBlockedError

TASKS = [f"{digit}1111111-1111-1111-1111-111111111111" for digit in "932"]
"""Not in the order of their paths."""


class Rows:
    """A saver and its maintenance, called by one face."""

    def __init__(self, saver: BaseCheckpointSaver[Any], *, sync: bool) -> None:
        self.saver = saver
        self.sync = sync
        self.maintenance = Maintenance(saver)

    async def call(self, target: Any, method: str, *args: Any, **options: Any) -> Any:
        called = getattr(target, method if self.sync else f"a{method}")(*args, **options)
        if method == "list":
            return list(called) if self.sync else [item async for item in called]
        return called if self.sync else await called

    async def put(
        self, thread_id: str, *, ns: str = "", parent: str | None = None, run: str = "r", **metadata: Any
    ) -> str:
        """Store a checkpoint with two writes of each of three tasks; return its id."""
        made = {**empty_checkpoint(), "id": str(uuid4())}
        made["channel_values"] = {"messages": [HumanMessage(f"{made['id']}", id="7")], "count": 3}
        made["channel_versions"] = {"messages": f"1.{made['id']}", "count": f"2.{made['id']}", "gone": "3"}
        made["id"] = f"{len(await self.rows()):08}-0000-0000-0000-000000000000"  # grows
        where = bare(thread_id, ns, parent)
        versions = dict(made["channel_versions"])
        await self.call(self.saver, "put", where, made, {"step": 1, "run_id": run, "parents": {}, **metadata}, versions)
        for path, task in enumerate(TASKS):
            writes = [("count", path), ("note", [task]), ("__interrupt__", ["why"])]
            await self.call(self.saver, "put_writes", bare(thread_id, ns, made["id"]), writes, task, f"~{path}")
        return made["id"]

    async def rows(self, thread_id: str | None = None) -> list[CheckpointTuple]:
        """Return what is stored, newest first within a namespace."""
        return await self.call(self.saver, "list", bare(thread_id, None, None) if thread_id else None)

    async def ids(self, thread_id: str) -> set[tuple[str, str]]:
        return {tuple(locate(item.config)[1]) for item in await self.rows(thread_id)}

    async def threads(self) -> set[str]:
        return {locate(item.config)[0] for item in await self.rows()}


def told(items: list[CheckpointTuple]) -> list[Any]:
    """Return all that checkpoints say but for their thread."""
    parents = [item.parent_config and tuple(locate(item.parent_config)[1]) for item in items]
    return [
        (tuple(locate(item.config)[1]), item.checkpoint, item.metadata, parent, list(item.pending_writes or []))
        for item, parent in zip(items, parents, strict=True)
    ]


@pytest.fixture(params=["memory sync", "memory async", "sqlite sync", "sqlite async"])
async def rows(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Rows]:
    kind, face = request.param.split()
    path = str(tmp_path / "rows.sqlite")
    if kind == "memory":
        yield Rows(InMemorySaver(), sync=face == "sync")
    elif face == "sync":
        with SqliteSaver.from_conn_string(path) as saver:
            yield Rows(saver, sync=True)
    else:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            yield Rows(saver, sync=False)


async def test_a_run_is_deleted_from_every_namespace_with_its_writes(rows):
    kept = await rows.put("1", run="kept")
    first = await rows.put("1", run="gone", parent=kept)
    call = await rows.put("1", ns="tools:7", run="gone")
    last = await rows.put("1", run="kept too", parent=first)
    await rows.put("2", run="other")
    before, other = told(await rows.rows("1")), told(await rows.rows("2"))
    await rows.call(rows.maintenance, "delete_for_runs", ["gone", "unknown"])
    after = told(await rows.rows("1"))
    assert await rows.ids("1") == {("", kept), ("", last)}
    assert [item for item in after if item[0] == ("", kept)] == [item for item in before if item[0] == ("", kept)]
    assert [item[3] for item in after if item[0] == ("", last)] == [None]
    assert told(await rows.rows("2")) == other
    assert await rows.threads() == {"1", "2"}
    for place in (("", first), ("tools:7", call)):
        assert await rows.call(rows.saver, "get_tuple", bare("1", *place)) is None


async def test_a_thread_of_one_run_goes_with_it(rows):
    await rows.put("1", parent=await rows.put("1"))
    await rows.call(rows.maintenance, "delete_for_runs", ["r"])
    assert await rows.rows() == []


async def test_deleting_no_run_or_an_unknown_one_changes_nothing(rows):
    await rows.put("1")
    before = told(await rows.rows())
    await rows.call(rows.maintenance, "delete_for_runs", [])
    await rows.call(rows.maintenance, "delete_for_runs", ["unknown"])
    assert told(await rows.rows()) == before


async def test_a_copy_says_the_same_as_its_source(rows):
    first = await rows.put("1")
    await rows.put("1", ns="node", parent="00000000-not-stored")
    await rows.put("1", parent=first, run="another", source="loop")
    before = told(await rows.rows("1"))
    await rows.call(rows.maintenance, "copy_thread", "1", "2")
    copied = told(await rows.rows("2"))
    assert [item[:3] for item in copied] == [item[:3] for item in before]
    assert [item[4] for item in copied] == [item[4] for item in before]
    assert [item[3] for item in copied if item[0][0] == ""] == [("", first), None]
    assert told(await rows.rows("1")) == before


async def test_a_copied_task_writes_nothing_twice(rows):
    """Savers know a task's outputs by their number, so the copy must count as the source did."""
    place = await rows.put("1")
    await rows.call(rows.maintenance, "copy_thread", "1", "2")
    again = [("count", 7), ("note", ["again"])]
    await rows.call(rows.saver, "put_writes", bare("2", "", place), again, TASKS[0], "~0")
    copied = await rows.call(rows.saver, "get_tuple", bare("2", "", None))
    assert [write[1:] for write in copied.pending_writes if write[0] == TASKS[0]] == [
        ("__interrupt__", ["why"]),
        ("count", 0),
        ("note", [TASKS[0]]),
    ]


async def test_a_copy_leaves_what_the_target_has(rows):
    place = await rows.put("1")
    await rows.call(rows.maintenance, "copy_thread", "1", "2")
    await rows.call(rows.saver, "put_writes", bare("2", "", place), [("__interrupt__", ["new"])], TASKS[0], "~0")
    await rows.put("2", parent=place)
    await rows.put("1", parent=place)
    moved_on = told(await rows.rows("2"))
    await rows.call(rows.maintenance, "copy_thread", "1", "2")
    after = told(await rows.rows("2"))
    assert len(after) == 3
    assert [item for item in after if item in moved_on] == moved_on


async def test_a_copy_of_nothing_is_nothing(rows):
    await rows.call(rows.maintenance, "copy_thread", "1", "2")
    assert await rows.rows() == []


async def test_pruning_keeps_the_newest_of_each_namespace(rows):
    root = await rows.put("1")
    await rows.put("1", ns="node")
    old_call = await rows.put("1", ns="tools:old", parents={"": root})
    head = await rows.put("1", parent=root)
    stateful = await rows.put("1", ns="node")
    call = await rows.put("1", ns="tools:new", parents={"": head})
    await rows.put("2", parent=await rows.put("2"))
    before, other = told(await rows.rows("1")), told(await rows.rows("2"))
    await rows.call(rows.maintenance, "prune", ["1", "1", "unknown"])
    assert await rows.ids("1") == {("", head), ("node", stateful), ("tools:new", call)}
    assert ("tools:old", old_call) in {item[0] for item in before}
    kept = {item[0]: item for item in before}
    for place, *said in told(await rows.rows("1")):
        assert said[:2] == list(kept[place][1:3])
        assert said[2:] == [None, kept[place][4]]
    assert told(await rows.rows("2")) == other
    assert await rows.threads() == {"1", "2"}


async def test_pruning_a_pruned_thread_writes_nothing(rows, monkeypatch):
    await rows.put("1")
    for method in ("put", "aput", "delete_thread", "adelete_thread"):
        monkeypatch.setattr(type(rows.saver), method, None)
    await rows.call(rows.maintenance, "prune", ["1"])
    assert await rows.threads() == {"1"}


async def test_pruning_to_turns_keeps_what_they_say(rows):
    places = [await rows.put("1", source="input")]
    for source in ("loop", "input", "loop"):
        places.append(await rows.put("1", source=source, parent=places[-1]))
    before = told(await rows.rows("1"))
    await rows.call(rows.maintenance, "prune", ["1"], turns=1)
    kept = told(await rows.rows("1"))
    assert [item[0][1] for item in kept] == [places[3], places[2]]
    assert [item[3] for item in kept] == [("", places[2]), None]
    assert [item[4] for item in kept] == [item[4] for item in before[:2]]


async def test_pruning_to_nothing_deletes_the_thread(rows):
    await rows.put("1")
    await rows.put("1", ns="node")
    await rows.put("2")
    await rows.call(rows.maintenance, "prune", ["1"], strategy="delete")
    assert await rows.threads() == {"2"}


@pytest.mark.parametrize(("threads", "strategy", "error"), [(["1"], "all", ValueError), ("1", "delete", TypeError)])
async def test_wrong_arguments_prune_nothing(rows, threads, strategy, error):
    await rows.put("1", parent=await rows.put("1"))
    with pytest.raises(error):
        await rows.call(rows.maintenance, "prune", threads, strategy=strategy)
    assert len(await rows.rows("1")) == 2


async def test_no_thread_is_pruned_if_one_has_a_delta_channel_whose_value_would_go(rows):
    await rows.put("1", parent=await rows.put("1"))
    await rows.put("2", parent=await rows.put("2"), counters_since_delta_snapshot={"log": [1, 1]})
    with pytest.raises(NotImplementedError):
        await rows.call(rows.maintenance, "prune", ["1", "2"])
    assert len(await rows.rows()) == 4


async def test_methods_of_the_savers_own_class_come_first():
    called = []

    class Complete(InMemorySaver):
        def delete_for_runs(self, run_ids):
            called.append(("delete_for_runs", run_ids))

        async def aprune(self, thread_ids, *, strategy="keep_latest"):
            called.append(("aprune", thread_ids, strategy))

    maintenance = Maintenance(Complete())
    maintenance.delete_for_runs(["7"])
    await maintenance.aprune(["1"], strategy="delete")
    await maintenance.adelete_for_runs(["7"])
    assert called == [("delete_for_runs", ["7"]), ("aprune", ["1"], "delete")]


async def test_rows_that_the_tripwire_refuses_can_be_pruned():
    inner = InMemorySaver()
    guarded = copy.copy(inner)
    guarded.serde = TripwireSerializer(inner.serde)
    old = Rows(inner, sync=False)
    made = {**empty_checkpoint(), "channel_values": {"messages": [ToolMessage("raw", tool_call_id="7")]}}
    made["channel_versions"] = {"messages": "1"}
    with pytest.raises(LeakBlockedError):
        await guarded.aput(bare("1", "", None), made, {}, {"messages": "1"})
    await inner.aput(bare("1", "", await old.put("1")), made, {"step": 2}, {"messages": "1"})
    await Maintenance(guarded).aprune(["1"])
    (kept,) = await old.rows("1")
    assert kept.checkpoint["channel_values"] == made["channel_values"]


class Dies(InMemorySaver):
    """Fails at its n-th write, having done it or not, and from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.left = {"writes": 1_000, "late": False}

    def _write(self, method, *args, **options):
        self.left["writes"] -= 1
        if self.left["writes"] > 0 or (self.left["writes"] == 0 and self.left["late"]):
            getattr(super(), method)(*args, **options)
        if self.left["writes"] <= 0:
            raise ConnectionError

    def put(self, *args):
        self._write("put", *args)

    def put_writes(self, *args):
        self._write("put_writes", *args)

    def delete_thread(self, *args):
        self._write("delete_thread", *args)


@pytest.mark.parametrize("repeated", ["setup", "prune"])
@pytest.mark.parametrize("late", [False, True])
async def test_what_shall_stay_is_there_again_wherever_the_process_dies(late, repeated):
    for after in range(1, 100):
        rows = Rows(Dies(), sync=True)
        old = await rows.put("1")
        head = await rows.put("1", parent=old)
        stateful = await rows.put("1", ns="node")
        whole = {item[0]: item for item in told(await rows.rows("1"))}
        rows.saver.left.update(writes=after, late=late)
        try:
            rows.maintenance.prune(["1"])
        except ConnectionError:
            rows.saver.left.update(writes=1_000)
            if repeated == "setup":
                Maintenance(rows.saver).setup()
            else:
                rows.maintenance.prune(["1"])
        else:
            break
        assert await rows.threads() == {"1"}
        found = {item[0]: item for item in told(await rows.rows("1"))}
        assert {("", head), ("node", stateful)} <= set(found) <= set(whole)
        for place, said in found.items():
            assert (said[1], said[2], said[4]) == (whole[place][1], whole[place][2], whole[place][4])
        if repeated == "prune":
            assert ("", old) not in found
    assert after > 10


async def test_a_deleted_run_does_not_come_back_with_a_copy_that_was_left():
    rows = Rows(Dies(), sync=True)
    old = await rows.put("1", run="old")
    await rows.put("1", parent=await rows.put("1", parent=old, run="doomed"), run="new")
    rows.saver.left.update(writes=18)  # the first after the thread is deleted
    with pytest.raises(ConnectionError):
        rows.maintenance.delete_for_runs(["old"])
    assert len(await rows.threads()) == 1
    assert await rows.rows("1") == []  # the copy is all there is
    rows.saver.left.update(writes=1_000)
    rows.maintenance.delete_for_runs(["doomed"])
    rows.maintenance.setup()
    assert [item.metadata["run_id"] for item in await rows.rows()] == ["new"]
    assert await rows.threads() == {"1"}


async def test_a_turn_that_goes_on_meanwhile_is_kept(rows):
    """What it stores while the rows are copied; that is nearly all of the time."""
    head = await rows.put("1", parent=await rows.put("1"))
    mover = copy.copy(rows.saver)
    started = []

    class GoesOn(type(rows.saver)):
        def put(self, *args):
            if len(started) < 2:
                started.append(1)
                if len(started) == 2:
                    newer = {**empty_checkpoint(), "id": "99999999-0000-0000-0000-000000000000"}
                    type(rows.saver).put(rows.saver, bare("1", "", head), newer, {"run_id": "r"}, {})
            return super().put(*args)

        async def aput(self, *args):
            if len(started) < 2:
                started.append(1)
                if len(started) == 2:
                    newer = {**empty_checkpoint(), "id": "99999999-0000-0000-0000-000000000000"}
                    await rows.saver.aput(bare("1", "", head), newer, {"run_id": "r"}, {})
            return await super().aput(*args)

    mover.__class__ = GoesOn
    await rows.call(Maintenance(mover), "prune", ["1"])
    newest = await rows.call(rows.saver, "get_tuple", bare("1", "", None))
    assert newest.checkpoint["id"].startswith("99999999")


async def test_calls_at_the_same_time_wait_for_each_other(tmp_path):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "rows.sqlite")) as saver:
        rows = Rows(saver, sync=False)
        for thread_id in ("1", "2"):
            first = await rows.put(thread_id, run="gone")
            await rows.put(thread_id, parent=await rows.put(thread_id, parent=first))
        heads = {place for thread_id in ("1", "2") for place in [max(await rows.ids(thread_id))]}
        await asyncio.gather(
            rows.maintenance.aprune(["1", "2"]),
            rows.maintenance.adelete_for_runs(["gone"]),
            rows.maintenance.aprune(["2", "1"]),
            rows.maintenance.acopy_thread("1", "3"),
        )
        assert (await rows.ids("1")) | (await rows.ids("2")) == heads
        assert await rows.ids("3") == await rows.ids("1")
        assert await rows.threads() == {"1", "2", "3"}
