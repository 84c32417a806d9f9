"""The snippets of docs/how_to, run as they stand there: each does what its page says."""

import re

import pytest
from testkit.snippets import snippets


@pytest.mark.slow
async def test_a_user_is_deleted_and_others_stay(database):
    (page,) = snippets("how_to/delete_one_user.md")
    assert await page["main"](database) == ["bob"]


async def test_a_checkpointer_has_placeholders():
    (page,) = snippets("how_to/keep_pii_out.md")
    said, answered = await page["main"]()
    assert re.fullmatch(r"Write to <EMAIL:[A-Z2-7]{8}>", said)
    assert answered == "I have noted your address."


async def test_a_person_approves_and_sees_the_real_address():
    (page,) = snippets("how_to/human_approval.md")
    assert await page["main"]() == ("Send it to ann@example.com?", "Done.")


async def test_one_node_brings_memories_into_a_graph_of_ones_own(database, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    (page,) = snippets("how_to/nodes_in_your_graph.md")
    assert await page["main"]() == "I know: ['Ann keeps two African Grey parrots']"


async def test_a_tool_of_ones_own_gets_the_real_number():
    (page,) = snippets("how_to/own_tools.md")
    received, (said, answered) = await page["main"]()
    assert received == ["+1 212 555 0143"]
    assert re.fullmatch(r"Book for Ann, my number is <PHONE:[A-Z2-7]{8}>", said)
    assert answered == "You have table 7."


async def test_a_channel_of_ones_own_outlives_its_turn():
    (page,) = snippets("how_to/own_state.md")
    shown, stored = await page["main"]()
    assert shown == "call 212-555-0143 at noon"
    assert re.fullmatch(r"call <PHONE:[A-Z2-7]{8}> at noon", stored)


def test_a_recogniser_of_ones_own_is_used():
    (page,) = snippets("how_to/own_recogniser.md")
    assert page["redacted"] == "I am <CUSTOMER>, write to <EMAIL>"


async def test_a_store_of_ones_own_has_placeholders():
    (page,) = snippets("how_to/own_store.md")
    assert await page["main"]() == "Write to <EMAIL>"


async def test_tenants_find_their_own(database):
    (page,) = snippets("how_to/several_tenants.md")
    assert await page["main"](database) == [
        ["Ann of Acme keeps two parrots"],
        ["Ann of Globex keeps a dog"],
        [],
    ]


@pytest.mark.slow
async def test_recall_is_measured(database):
    (page,) = snippets("how_to/evaluate_recall.md")
    assert await page["main"](database) == 1.0


async def test_of_an_image_its_caption_is_kept():
    (page,) = snippets("how_to/voice_and_images.md")
    assert await page["main"]() == "A swollen left knee."
