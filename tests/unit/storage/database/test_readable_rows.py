from uuid import UUID

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet.storage.database.readable_rows import readable_tables


@pytest.fixture
async def connection(empty_database):
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as connection:
        await connection.execute('CREATE TABLE "odd name" (id int, text text, empty text)')
        await connection.execute("CREATE TABLE blobs (type text, blob bytea)")
        await connection.execute("CREATE TABLE nothing (id int)")
        yield connection


async def read(connection, **options):
    return {table.name: table async for table in readable_tables(connection, **options)}


async def test_the_last_rows_of_a_table_are_shown_without_empty_values(connection):
    await connection.execute(
        "INSERT INTO \"odd name\" SELECT i, repeat('é', i * 50), NULL FROM generate_series(1, 9) i"
    )
    tables = await read(connection)
    assert set(tables) == {"public.odd name"}
    table = tables["public.odd name"]
    assert table.count == 9
    assert [row["id"] for row in table.rows] == ["6", "7", "8", "9"]
    assert table.rows[-1]["text"].endswith("… (450 characters)")
    assert "empty" not in table.rows[0]


async def test_messages_in_a_blob_are_shown_as_who_said_what(connection):
    kind, blob = JsonPlusSerializer().dumps_typed([HumanMessage("Hi"), AIMessage("Hello")])
    await connection.execute("INSERT INTO blobs VALUES (%s, %s)", (kind, blob))
    assert (await read(connection))["public.blobs"].rows == [{"blob": "human: Hi | ai: Hello"}]


async def test_a_vector_is_shown_as_its_size(connection):
    await connection.execute("INSERT INTO \"odd name\" VALUES (1, '[0.5,-1e-05,3]', NULL)")
    (row,) = (await read(connection))["public.odd name"].rows
    assert row["text"] == "a vector of 3 numbers"


async def test_of_one_user_the_tables_are_shown_that_say_whose_a_row_is(connection):
    await connection.execute("CREATE TABLE owned (user_key uuid, text text)")
    await connection.execute(
        "INSERT INTO owned SELECT ('0' || n || repeat('0', 30))::uuid, 'of ' || n FROM generate_series(1, 9) n"
    )
    await connection.execute("INSERT INTO \"odd name\" VALUES (1, 'of nobody', NULL)")
    user = UUID("04" + "0" * 30)
    tables = await read(connection, user_key=user, max_chars=3)
    assert {name: table.rows for name, table in tables.items()} == {
        "public.owned": [{"user_key": "040… (36 characters)", "text": "of … (4 characters)"}]
    }
