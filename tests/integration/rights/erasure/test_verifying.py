"""What is left of an erasure is found, wherever it is; and the commands say so."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import zipfile
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from testkit.erasing import PLAIN, a_house
from testkit.keys import USER_KEYS
from testkit.roles import logins
from typer.testing import CliRunner

from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver
from discreet.cli import app
from discreet.errors import DiscreetError, ReceiptError
from discreet.rights.erasure import Receipt, Scope
from discreet.rights.erasure.verifying import verify
from discreet.settings import Settings
from discreet.state.context import Context
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.spaces.reembed_user import settle_user

ANN = USER_KEYS.of_user("ann")


@pytest.fixture
async def receipt(house):
    """Return the receipt of an erasure of all of Ann's."""
    await house.say("remember: I own a zebrafinch", thread="anns-talk")
    return await house.erasures.erase("ann", Scope.everything())


async def look(house, receipt, **options):
    """Return what is left, by place and what it is."""
    found = await verify(receipt, works=house.storage.works_pool, keys=USER_KEYS, **options)
    assert found.looked["tables"] > 20
    return {(finding.place, finding.what) for finding in found.left}


@pytest.mark.slow
async def test_nothing_is_found_where_nothing_is_left(house, receipt):
    assert await look(house, receipt, canaries=["zebrafinch"]) == set()


PLANTED = {
    "a text": (
        "INSERT INTO discreet.setting VALUES ('x', '\"a zebrafinch\"', now(), 'me')",
        ("discreet.setting", "canary"),
    ),
    "bytes": (
        """CREATE TABLE public.notes AS SELECT 'I keep a Zebrafinch'::bytea AS said""",
        ("public.notes", "canary"),
    ),
    "bytes in another script": (
        """CREATE TABLE public.notes AS SELECT convert_to('Мой Зяблик', 'UTF8') AS said""",
        ("public.notes", "canary"),
    ),
    "JSON as a text, in bytes": (
        """CREATE TABLE public.notes AS SELECT convert_to('{"said": "\\u0417\\u044F\\u0431\\u043b\\u0438\\u043a"}', 'UTF8') AS said""",
        ("public.notes", "canary"),
    ),
    "JSON in JSON, as a text": (
        """CREATE TABLE public.notes AS SELECT '{"said": "\\\\u0417\\\\u044f\\\\u0431\\\\u043b\\\\u0438\\\\u043a"}'::json AS said""",
        ("public.notes", "canary"),
    ),
    "their key": (f"INSERT INTO discreet.user_memories VALUES ('{ANN}')", ("discreet.user_memories", "key")),
    "their key in others' table of a name of ours": (
        f"CREATE TABLE public.users AS SELECT '{ANN}' AS id",
        ("public.users", "key"),
    ),
    "a thread of theirs": (
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint) VALUES ('anns-talk', 'c', '{}')",
        (".checkpoints", "thread"),
    ),
    "what a tool was called with": (
        """INSERT INTO checkpoint_messages (thread_id, channel, position, kind, content, tool)
        VALUES ('another', 'messages', 0, 'ai', '', '[{"name": "search_orders", "args": {"of": "a zebrafinch"}, "id": "1"}]')""",
        (".checkpoint_messages", "canary"),
    ),
    "an index": (f"CREATE INDEX of_{ANN.hex} ON discreet.memory (entry_id)", ("indexes", "key")),
    "an index of the key as it is written": (
        f'CREATE INDEX "of {ANN}" ON discreet.memory (entry_id)',
        ("indexes", "key"),
    ),
    "an index of a word": ("CREATE INDEX of_zebrafinch ON discreet.memory (entry_id)", ("indexes", "canary")),
    "a table of others": (
        "CREATE TABLE public.notes (said jsonb); INSERT INTO notes VALUES ('[\"Zebrafinch\"]')",
        ("public.notes", "canary"),
    ),
    "a table and columns with signs in their names": (
        """CREATE TABLE public."notes 100%" ("rate_%" int, "%s" text, thread_id text);
        INSERT INTO "notes 100%" VALUES (1, 'a zebrafinch', 'anns-talk')""",
        ("public.notes 100%", "canary"),
    ),
    "a schema that is called like an extension's": (
        """CREATE SCHEMA citus_archive; CREATE TABLE citus_archive.notes AS SELECT 'a zebrafinch' AS said""",
        ("citus_archive.notes", "canary"),
    ),
    "a table of columns in several collations": (
        """CREATE TABLE public.notes (one text COLLATE "C", other text COLLATE "POSIX");
        INSERT INTO notes VALUES ('a zebrafinch', '')""",
        ("public.notes", "canary"),
    ),
    "a table of many columns": (
        f"""CREATE TABLE public.notes ({", ".join(f"c{number} int" for number in range(200))}, said text);
        INSERT INTO notes (said) VALUES ('a zebrafinch')""",
        ("public.notes", "canary"),
    ),
    "a stored view of others": (
        "CREATE MATERIALIZED VIEW public.notes AS SELECT 'a zebrafinch' AS said",
        ("public.notes", "canary"),
    ),
    "what ANALYZE has copied": (
        """CREATE TABLE public.notes AS SELECT 'a zebrafinch' AS said FROM generate_series(1, 9);
        ANALYZE public.notes; DELETE FROM public.notes""",
        ("statistics of public.notes", "canary"),
    ),
    "what it has copied by somebody's statistics": (
        """CREATE TABLE public.notes AS SELECT 'a zebrafinch' AS said FROM generate_series(1, 9);
        CREATE STATISTICS public.loud ON (upper(said)) FROM public.notes;
        ANALYZE public.notes; DELETE FROM public.notes;
        DELETE FROM pg_statistic WHERE starelid = 'public.notes'::regclass""",
        ("statistics of public.notes", "canary"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
async def test_what_is_left_is_found(house, receipt, database, name):
    statements, where = PLANTED[name]
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in statements.split(";"):
            connection.execute(statement)
    left = await look(house, receipt, canaries=["zebrafinch", "зяблик"])
    assert [(place, what) for place, what in left if place.endswith(where[0]) and what == where[1]]


async def test_nothing_stays_of_calls_and_results_that_a_policy_keeps(house, database):
    saver = RedactingSaver.from_pool(house.storage.pool, CheckpointPolicy(tools={"search_orders": REDACT}))
    told = [
        HumanMessage("And now?", id="one"),
        AIMessage("", tool_calls=[{"name": "search_orders", "args": {"of": "a zebrafinch"}, "id": "1"}]),
        ToolMessage("Two zebrafinches are late", name="search_orders", tool_call_id="1"),
        AIMessage("They are late."),
    ]
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [m.model_copy() for m in told[1:]]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "anns-talk", "user_id": "ann"}}
    await graph.ainvoke({"messages": told[:1]}, config)
    with psycopg.connect(database) as connection:
        kinds = "SELECT array_agg(kind ORDER BY position) FROM checkpoint_messages WHERE thread_id = 'anns-talk'"
        assert connection.execute(kinds).fetchone() == (["human", "ai", "tool", "ai"],)
    receipt = await house.erasures.erase("ann", Scope.everything())
    assert await look(house, receipt, canaries=["zebrafinch"]) == set()


async def test_only_tombstones_stay_of_threads_in_whatever_schema(house):
    elsewhere = RedactingSaver.from_pool(house.storage.pool, schema="threads")
    await elsewhere.setup()
    graph = house.built.compile(checkpointer=elsewhere, store=house.storage.store)
    config = {"configurable": {"thread_id": "anns-talk"}}
    await graph.ainvoke({"messages": [("user", "I own a zebrafinch")]}, config, context=Context(user_id="ann"))
    receipt = await house.erasures.erase("ann", Scope.everything())
    found = await verify(receipt, works=house.storage.works_pool, keys=USER_KEYS)
    assert ("threads.checkpoint_threads", "key", "") in {(each.place, each.what, each.stays_as) for each in found.left}
    await elsewhere.adelete_thread("anns-talk")
    assert await look(house, receipt) == set()


LATE = {
    "the end of a re-embedding": lambda storage: settle_user(UserLocks(storage.pool), ANN, space_key=1),
    "a deletion": lambda storage: storage.memories.delete("ann", uuid4()),
    "a deletion of many": lambda storage: storage.memories.delete_many("ann", MemoryFilters()),
    "a memory forgotten": lambda storage: storage.memories.forget("ann", uuid4()),
    "a text forgotten": lambda storage: storage.memories.forget("ann", "zebrafinch"),
    "feedback": lambda storage: storage.memories.add_feedback("ann", uuid4(), {"helpful": True}),
}
"""Comes after the erasure, and adds nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("work", LATE)
async def test_what_adds_nothing_leaves_no_key(house, receipt, work):
    await LATE[work](house.storage)
    assert await look(house, receipt) == set()


@pytest.mark.slow
@pytest.mark.dialect
async def test_files_and_redis_are_looked_through(database, redis_url, tmp_path):
    import redis

    (tmp_path / "logs" / "deep").mkdir(parents=True)
    (tmp_path / "logs" / "deep" / "app.log").write_text("INFO a zebrafinch came\n")
    (tmp_path / "logs" / "empty.log").touch()
    (tmp_path / "logs" / "pgdata").mkdir()
    (tmp_path / "logs" / "pgdata" / "PG_VERSION").write_text("18 zebrafinch")
    async with a_house(database, settings=Settings(**PLAIN, redis_url=redis_url)) as house:
        receipt = await house.erasures.erase("ann", Scope.everything())
        with redis.Redis.from_url(redis_url) as client:
            client.set("session:{ann}:t:state", "ACTIVE")
            client.rpush("list", "a ZEBRAfinch")
            client.hset("hash", "field", "a Zebrafinch")
        left = await look(
            house, receipt, user_id="ann", canaries=["zebrafinch"], files=[tmp_path / "logs"], redis_url=redis_url
        )
    assert left == {("redis", "key"), ("redis", "canary"), (f"file {tmp_path / 'logs' / 'deep' / 'app.log'}", "canary")}


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Return a folder in which there is much that can't be looked into."""
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    (logs / "pgdata").mkdir(parents=True)
    (logs / "pgdata" / "PG_VERSION").touch()
    elsewhere.mkdir()
    (logs / "more").symlink_to(elsewhere)
    for pack in (gzip, bz2, lzma):
        (logs / f"{pack.__name__}.log").write_bytes(pack.compress(b"a zebrafinch"))
    with zipfile.ZipFile(logs / "zip", "w") as file:
        file.writestr("app.log", "a zebrafinch")
    monkeypatch.chdir(logs)
    for _ in range(20):
        Path("n" * 250).mkdir()
        os.chdir("n" * 250)  # too far down for one path
    return logs


async def test_files_that_are_passed_over_are_named(house, logs):
    receipt = await house.erasures.erase("ann", Scope.everything())
    found = await verify(receipt, works=house.storage.works_pool, keys=USER_KEYS, files=[logs])
    [deep] = [place for place in found.unseen if place.endswith("(OSError)")]
    assert deep.startswith(f"folder {logs}/nnn")
    assert {*found.unseen} - {deep} == {
        f"folder {logs}/pgdata, a database's own files",
        f"folder {logs}/more, a link",
        *(f"file {logs}/{name}, which is compressed" for name in ("gzip.log", "bz2.log", "lzma.log", "zip")),
    }
    with pytest.raises(ReceiptError, match="no file and no folder"):
        await look(house, receipt, files=[Path(os.devnull)])


@pytest.mark.slow
async def test_what_stays_does_so_in_the_schema_of_the_settings(database):
    async with a_house(database, settings=Settings(**PLAIN, db_schema="memory")) as house:
        await house.say("remember: I own a zebrafinch")
        receipt = await house.erasures.erase("ann", Scope.everything())
        assert await look(house, receipt, canaries=["zebrafinch"]) == set()


@pytest.mark.slow
async def test_a_receipt_of_another_identity_key_is_refused(house, receipt):
    with pytest.raises(ReceiptError, match="changed"):
        await look(house, receipt.model_copy(update={"user_key": USER_KEYS.of_user("bob")}))
    with pytest.raises(ReceiptError, match="no receipt"):
        Receipt.read("{}")


def run(*arguments, **options):
    """Run a command and return its code and output."""
    done = CliRunner().invoke(app, [*arguments], **options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture
def said(database, monkeypatch):
    """Return a database in which Ann has said something."""
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    import asyncio

    from discreet.storage import open_storage

    async def save():
        async with open_storage(database) as storage:
            await storage.memories.save("ann", [MemoryRecord(text="I own a zebrafinch")])
            await storage.memories.save("ann", [MemoryRecord(text="It sang", type="important_moment")])

    asyncio.run(save())
    return database


@pytest.mark.slow
def test_the_commands_erase_check_and_list_moments(said, tmp_path):
    code, output = run("erase", "--user", "ann", "--dry-run", "--json")
    assert code == 0
    assert json.loads(output)["database"]["memory"] == 2
    code, output = run("erase", "--user", "ann", input="n\n")
    assert code == 1, "nobody said yes"
    file = tmp_path / "receipt.json"
    code, output = run("erase", "--user", "ann", "--yes", "--receipt", str(file))
    assert code == 0, output
    assert "moments" in output
    code, output = run("verify-erasure", str(file), "--canary", "zebrafinch")
    assert (code, "Nothing is left" in output) == (0, True), output
    assert "backups" in output
    code, output = run("moments", "--json")
    [moment] = json.loads(output)
    assert moment["text"] == "It sang"
    assert run("moments", "--delete", moment["entry_id"])[0] == 0
    assert json.loads(run("moments", "--json")[1]) == []
    with psycopg.connect(said, autocommit=True) as connection:
        connection.execute("INSERT INTO discreet.setting VALUES ('x', '\"a zebrafinch\"', now(), 'me')")
    code, output = run("verify-erasure", str(file), "--canary", "zebrafinch", "--json")
    assert (code, json.loads(output)["left"]) == (1, 1)


@pytest.mark.parametrize(
    ("said", "canary"),
    [
        ("A ZebraFinch came", "zebrafinch"),
        ("Мой Зяблик поёт", "зяблик"),
        ("Chim Sẻ hót", "chim sẻ"),
        (json.dumps("我养了一只斑胸草雀"), "斑胸草雀"),
        (json.dumps({"said": "Мой Зяблик"}), "зяблик"),
        (json.dumps({"raw": json.dumps({"said": 'der "Grüne"'})}), 'der "grüne"'),
    ],
)
async def test_words_are_found_in_files_however_they_are_written(house, tmp_path, said, canary):
    receipt = await house.erasures.erase("ann", Scope.everything())
    log = tmp_path / "app.log"
    log.write_text(said, encoding="utf-8")
    assert await look(house, receipt, canaries=[canary, "goldcrest"], files=[log]) == {(f"file {log}", "canary")}


REFUSED = [
    {"text": "", "user_id": "ann"},
    {"text": "", "user_id": "bob", "tags": ["ann"]},
    {"text": "Ann, a zebrafinch".ljust(5_000), "user_id": "bob"},
    {"text": "", "user_id": "anna"},
    {"text": "", "user_id": "ann"},
]
"""Rows that an import can't take: lines 1, 2 and 5 have Ann as a value, line 3 a word that she said."""


@pytest.mark.parametrize("user", ["ann", "somebody-17"])
def test_rows_that_an_import_refused_are_found_and_named(database, monkeypatch, tmp_path, user):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    rows = "\n".join(map(json.dumps, REFUSED)).replace('"ann"', json.dumps(user))
    (tmp_path / "facts.jsonl").write_text(rows, encoding="utf-8")
    assert run("import", "jsonl", "facts.jsonl")[0] == 1
    [bad] = tmp_path.rglob("bad-rows/*.jsonl")
    receipt = tmp_path / "receipt.json"
    assert run("erase", "--user", user, "--yes", "--receipt", str(receipt))[0] == 0
    [told] = [each for each in json.loads(receipt.read_text())["unreached"] if each["place"].startswith("rows")]
    assert f"delete lines 1, 2, 5 of bad-rows/{bad.name}" in told["what"]
    code, output = run("verify-erasure", str(receipt), "--user", user, "--canary", "Zebrafinch", "--json")
    findings = {(each["place"].partition(", ")[2], each["what"]) for each in json.loads(output)["findings"]}
    assert code == 1
    assert findings >= {("lines 1, 2, 5", "key"), ("lines 3", "canary")}
    bad.write_text(bad.read_text().splitlines()[3])
    code, output = run("verify-erasure", str(receipt), "--user", user, "--canary", "Zebrafinch")
    assert (code, "Nothing is left" in output) == (0, True), output


@pytest.mark.slow
@pytest.mark.parametrize("user", ["bob", "7", "müller-1234", "Юлия-1234"])
def test_rows_that_an_import_refused_are_found_wherever_they_lie(database, monkeypatch, tmp_path, user):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    rows = [
        {"text": "", "user_id": user},
        {"text": "", "user_id": f"{user}8"},
        {"text": "", "user_id": "x", "tags": json.dumps({"of": [user]})},
    ]
    (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert run("import", "jsonl", "facts.jsonl", "--bad-rows", "refused.jsonl")[0] == 1
    refused = (tmp_path / "refused.jsonl").rename(tmp_path / "refused.txt")
    with refused.open("a") as file:
        file.write(f"a line of somebody else's, {json.dumps('I own a Зяблик, said ' + user)}\n")
    receipt = tmp_path / "receipt.json"
    assert run("erase", "--user", user, "--yes", "--receipt", str(receipt))[0] == 0
    arguments = ("verify-erasure", str(receipt), "--user", user, "--canary", "зяблик", "--log", "refused.txt")
    code, output = run(*arguments, "--json")
    lines = "1, 3, 4" if len(user) > 7 else "1, 3"
    assert (code, [each["place"] for each in json.loads(output)["findings"] if not each["stays_as"]]) == (
        1,
        [f"file refused.txt, lines {lines}", "file refused.txt, lines 4"],
    )
    refused.write_text(refused.read_text().splitlines()[1])
    assert run(*arguments)[0] == 0


@pytest.mark.slow
def test_statistics_that_the_role_may_not_see_are_named(said, tmp_path, monkeypatch):
    file = tmp_path / "receipt.json"
    assert run("erase", "--user", "ann", "--yes", "--receipt", str(file))[0] == 0
    with psycopg.connect(said, autocommit=True) as connection:
        connection.execute("CREATE INDEX loud ON discreet.memory (upper(text))")
    logins(said).name_them(monkeypatch)
    code, output = run("verify-erasure", str(file), "--canary", "zebrafinch", "--json")
    unseen = json.loads(output)["unseen"]
    assert code == 0
    assert [place.rpartition(".")[2] for place in unseen] == ["loud (upper)"], "of no other columns there is any"
    assert f"not looked into: {unseen[0]}" in run("verify-erasure", str(file))[1]


@pytest.mark.slow
def test_tables_that_the_role_may_not_read_are_named(said, tmp_path, monkeypatch):
    file = tmp_path / "receipt.json"
    assert run("erase", "--user", "ann", "--yes", "--receipt", str(file))[0] == 0
    logins(said).name_them(monkeypatch)
    with psycopg.connect(said, autocommit=True) as connection:
        connection.execute("""CREATE SCHEMA shop;
        CREATE TABLE public.closed (said text); CREATE TABLE shop.closed (said text); GRANT SELECT ON shop.closed TO PUBLIC;
        CREATE TABLE public.part (said text, open text); GRANT SELECT (open) ON public.part TO PUBLIC;
        CREATE TABLE public.hidden (said text); ALTER TABLE public.hidden ENABLE ROW LEVEL SECURITY;
        GRANT SELECT ON public.hidden TO PUBLIC;
        CREATE TABLE public.shown (LIKE public.hidden); ALTER TABLE public.shown ENABLE ROW LEVEL SECURITY;
        GRANT SELECT ON public.shown TO PUBLIC; CREATE POLICY all_rows ON public.shown FOR SELECT USING (true);
        CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
        CREATE FOREIGN TABLE public.far (said int) SERVER nowhere""")
    code, output = run("verify-erasure", str(file), "--canary", "zebrafinch", "--json")
    assert code == 0
    assert {place for place in json.loads(output)["unseen"] if not place.startswith("statistics")} == {
        "public.closed, which this role may not read",
        "public.part, which this role may not read",
        "shop.closed, which this role may not read",
        "rows of public.hidden that its policies may hide from this role",
        "public.far, a foreign table",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--recent", "--thread", "t"],
        ["--days", "3"],
        ["--recent", "--days", "inf"],
        ["--recent", "--days", "1e9"],
        ["--in-depth"],
        ["--in-depth", "--said", "a zebrafinch"],
        ["--thread", ""],
        ["--recent", "--namespace", "notes"],
        ["--namespace", "a..b"],
        ["--checkpoint-schema", "nowhere"],
        ["--said", "\udce9"],
        ["--namespace", "a\0b"],
        ["--user", ""],
        ["--receipt", "no folder/receipt.json"],
    ],
)
def test_the_command_refuses_what_is_not_clear(said, arguments):
    done = CliRunner().invoke(app, ["erase", "--user", "ann", *arguments, "--yes"])
    assert done.exit_code
    assert isinstance(done.exception, (SystemExit, DiscreetError)), "no traceback"
    assert json.loads(run("erase", "--user", "ann", "--dry-run", "--json")[1])["database"]["memory"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--canary", ""], ["--user", "bob"], ["--user", "ann", "--subject"], ["--user", "", "--subject"]]
)
def test_the_check_refuses_what_would_look_for_something_else(said, tmp_path, arguments):
    file = tmp_path / "receipt.json"
    assert run("erase", "--user", "ann", "--yes", "--receipt", str(file))[0] == 0
    done = CliRunner().invoke(app, ["verify-erasure", str(file), *arguments])
    assert done.exit_code
    assert isinstance(done.exception, (SystemExit, DiscreetError))


@pytest.mark.slow
def test_a_signature_in_other_letters_is_another(receipt, house):
    with pytest.raises(ReceiptError, match="was changed"):
        receipt.model_copy(update={"signature": "é"}).check(USER_KEYS)


@pytest.mark.slow
def test_a_receipt_that_can_not_be_written_is_printed(said):
    code, output = run("erase", "--user", "ann", "--yes", "--receipt", "/dev/full")
    assert code == 0
    assert '"scope": "all"' in output


def test_the_command_refuses_words_in_another_encoding(said):
    done = CliRunner().invoke(app, ["erase", "--user", "ann", "--said", "-", "--yes"], input=b"caf\xe9")
    assert type(done.exception).__name__ == "UndecodableInputError"


@pytest.mark.slow
def test_the_command_takes_words_from_standard_input(said):
    code, output = run("erase", "--user", "ann", "--said", "-", "--yes", "--json", input="I own a zebrafinch")
    assert code == 0, output
    assert json.loads(output)["scope"] == "said"
