"""One user's memories: found, looked at, edited, deleted; whatever they hold."""

import html
import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from discreet.nodes.retrieve_memories import FEW_FACTS
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord, Provenance
from discreet.testing import InMemoryMemories

SAID = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>"
RICH = MemoryRecord(
    text="Ann keeps two African Grey parrots",
    type="preference",
    created_at=SAID,
    importance=8,
    tags=["pets", "đồ ăn"],
    thread_id="t-1",
    position=4,
    agent_id="helper",
    provenance=Provenance(model="small-model", model_version="2", prompt="extract-1", source="extraction"),
    feedback=[{"rating": 5, "comment": "right"}],
    loop_flag=True,
)


async def open_user(web, subject="ann"):
    await web.get("/memory/admin/people")
    return await web.send(subject=subject)


async def keep(world, *records, subject="ann"):
    return await world.memories.save(world.gate.identity(subject), list(records))


def links(web, words):
    found = re.findall(rf'<a\b[^>]*href="([^"]*)"[^>]*>{words}', web.text)
    return [html.unescape(link) for link in found]


async def follow(web, words):
    return await web.get(links(web, words)[0])


def search_form(web):
    action = re.search(r'<form class="card" method="post" action="([^"]*)"', web.text)[1]
    return html.unescape(action)


async def find(web, **typed):
    fields = {"query": "", "type": "", "tag": "", "on": "", "form_token": web.fields()["form_token"]}
    return await web.post(search_form(web), fields | typed)


async def test_a_subject_is_looked_up_by_its_identity_and_never_stands_in_an_address(world, admin):
    await keep(world, MemoryRecord(text="Ann lives in Hanoi"), subject="ann@example.com")
    page = await open_user(admin, "ann@example.com")
    assert page.status_code == 200
    assert "Ann lives in Hanoi" in admin.words
    assert "ann@example.com" in admin.words
    assert all("ann" not in str(step.url).lower() for step in [page, *page.history])


@pytest.mark.parametrize("subject", ["", "   ", "x" * 201, "a\x00b"])
async def test_what_is_no_subject_is_told_beside_the_field(admin, subject):
    page = await open_user(admin, subject)
    assert page.status_code == 422
    assert 'id="error.subject"' in page.text


async def test_another_users_memories_are_not_shown(world, admin):
    (other,) = await keep(world, MemoryRecord(text="Bob lives in Hue"), subject="bob")
    await open_user(admin, "ann")
    assert "Bob" not in admin.words
    assert "Nothing is remembered of this user." in admin.words
    path = f"/memory/admin/people/{world.gate.identity('ann')}/memories/{other.entry_id}"
    for page in ("", "/edit", "/delete"):
        assert (await admin.get(path + page)).status_code == 404


async def test_the_newest_come_first_and_older_ones_on_further_pages(world, admin):
    numbers = [
        MemoryRecord(
            text=f"number {n:02}", type="turn", thread_id="t", position=n, created_at=SAID + timedelta(hours=n)
        )
        for n in range(45)
    ]
    await keep(world, *numbers)
    await open_user(admin)
    seen = []
    for size in (20, 20, 5):
        shown = re.findall(r"number (\d\d)</a>", admin.text)
        assert len(shown) == size
        seen += shown
        if size == 20:
            await follow(admin, "Older memories")
    assert seen == [f"{n:02}" for n in reversed(range(45))]
    assert "Older memories</a>" not in admin.text
    await follow(admin, "Newest memories")
    assert "number 44" in admin.words


async def test_filters_by_type_tag_and_day(world, admin):
    await keep(
        world,
        RICH,
        MemoryRecord(text="Went to Hue by train", type="event", created_at=SAID + timedelta(days=40)),
        MemoryRecord(text="Old address", valid_to=SAID + timedelta(days=10), created_at=SAID, valid_from=SAID),
    )
    await open_user(admin)
    assert "Old address" not in admin.words
    await find(admin, type="event")
    assert "train" in admin.words
    assert "parrots" not in admin.words
    await find(admin, tag="đồ ăn")
    assert "parrots" in admin.words
    assert "train" not in admin.words
    await find(admin, on="2026-03-05")
    assert "Old address" in admin.words
    assert "superseded" in admin.words
    assert "train" not in admin.words
    await follow(admin, "Show all")
    assert "train" in admin.words


@pytest.mark.parametrize(
    ("field", "value"), [("on", "2026-02-31"), ("type", "nothing"), ("tag", "x" * 101), ("query", "x" * 501)]
)
async def test_a_filter_that_cant_be_used_is_told_beside_its_field(world, admin, field, value):
    await open_user(admin)
    page = await find(admin, **{field: value, "tag" if field != "tag" else "query": "kept"})
    assert page.status_code == 422
    assert f'id="error.{field}"' in page.text
    assert "kept" in page.text


async def test_search_is_the_hybrid_one_and_its_words_stand_in_no_address(world, admin):
    await keep(world, RICH, MemoryRecord(text="Works as a nurse"))
    await open_user(admin)
    page = await find(admin, query="parrot")
    assert "African Grey" in admin.words
    assert "nurse" not in admin.words
    assert admin.fields()["query"] == "parrot"
    assert all("parrot" not in str(step.url) for step in [page, *page.history])


async def test_a_search_is_redacted_before_it_is_kept_anywhere(world, admin):
    await open_user(admin)
    await find(admin, query="mail to ann.nguyen@example.com")
    assert "ann.nguyen" not in admin.text


async def test_a_view_of_another_session_is_not_opened(world, admin, web):
    await keep(world, RICH)
    await open_user(admin)
    page = await find(admin, query="parrot")
    other = type(web)(world.app)
    async with other.http:
        await other.sign_in(world.gate.key)
        await other.get(str(page.url).removeprefix("http://admin.test"))
        assert other.page.status_code == 200
        assert other.fields()["query"] == ""
    for broken in ("view=x", "view=é", "view=" + "A" * 200):
        base = str(page.url).split("?")[0]
        assert (await admin.get(f"{base}?{broken}")).status_code == 200


async def test_all_of_a_memory_is_shown(world, admin):
    (kept,) = await keep(world, RICH.model_copy(update={"conflict_flags": [str(uuid4())]}))
    await open_user(admin)
    await follow(admin, "Ann keeps")
    for words in (
        "Ann keeps two African Grey parrots", "preference", "pets", "8 of 10", "2026-03-01 09:30 UTC", "extraction",
        "small-model", "version 2", "prompt extract-1", "rating: 5", "comment: right", "tool loop", "may contradict",
        kept.conflict_flags[0], str(kept.entry_id), "t-1, position 4", "helper", "Since it was said",
    ):  # fmt: skip
        assert words in admin.words
    assert '<time datetime="2026-03-01T09:30:00Z">' in admin.text
    assert '<span class="badge set" lang="vi"' in admin.text


async def test_a_superseded_memory_is_marked_with_its_end(world, admin):
    (kept,) = await keep(world, RICH.model_copy(update={"valid_to": SAID + timedelta(days=3)}))
    await admin.get(f"/memory/admin/people/{world.gate.identity('ann')}/memories/{kept.entry_id}")
    assert "superseded" in admin.words
    assert "until 2026-03-04 09:30 UTC" in admin.words


@pytest.mark.parametrize(
    ("text", "language"),
    [("Chị ấy thích phở", "vi"), ("Она живёт в Москве", "ru"), ("她住在上海", "zh"), ("Ann lives in Hue", "")],
)
async def test_a_text_says_its_language(world, admin, text, language):
    await keep(world, MemoryRecord(text=text))
    await open_user(admin)
    assert f'<p class="text" lang="{language}" dir="auto">' in admin.text
    assert text in admin.words


async def test_markup_in_a_memory_is_text_on_every_page(world, admin):
    hostile = MemoryRecord(
        text=HOSTILE,
        tags=[HOSTILE],
        thread_id=HOSTILE,
        agent_id=HOSTILE,
        provenance=Provenance(source=HOSTILE, model=HOSTILE),
        feedback=[{HOSTILE: HOSTILE}],
        conflict_flags=[HOSTILE],
    )
    (kept,) = await keep(world, hostile, subject=HOSTILE)
    path = f"/memory/admin/people/{world.gate.identity(HOSTILE)}"
    await open_user(admin, HOSTILE)
    assert html.escape(HOSTILE, quote=False).split("&#")[0][:20] in admin.text
    for page in (
        "/memories",
        f"/memories/{kept.entry_id}",
        f"/memories/{kept.entry_id}/edit",
        f"/memories/{kept.entry_id}/delete",
    ):
        assert (await admin.get(path + page)).status_code == 200
        assert "<script" not in admin.text
        assert "<img" not in admin.text
        assert "alert(" in admin.text
    await admin.get(f"{path}/recall")
    await admin.send(question=HOSTILE)
    assert "<script" not in admin.text
    assert "<img" not in admin.text


async def test_edit_replaces_text_importance_and_tags_and_keeps_the_rest(world, admin):
    (kept,) = await keep(world, RICH)
    path = f"/memory/admin/people/{world.gate.identity('ann')}/memories/{kept.entry_id}/edit"
    await admin.get(path)
    assert admin.fields()["text"] == RICH.text
    page = await admin.send(
        text="Ann keeps three parrots\r\nand a cat", importance="9", tags="pets\r\n\r\nчёрный кот\r\npets"
    )
    assert page.status_code == 200
    assert "The memory is saved." in admin.words
    stored = await world.memories.get(world.gate.identity("ann"), kept.entry_id)
    expected = {
        "text": "Ann keeps three parrots\nand a cat",
        "importance": 9,
        "tags": ["pets", "чёрный кот"],
        "provenance": kept.provenance.model_copy(update={"source": "admin"}),
    }
    assert stored == kept.model_copy(update=expected)
    assert len(await world.memories.latest(world.gate.identity("ann"))) == 1


async def test_what_is_sensitive_in_an_edit_is_replaced_and_that_is_said(world, admin):
    (kept,) = await keep(world, RICH)
    await admin.get(f"/memory/admin/people/{world.gate.identity('ann')}/memories/{kept.entry_id}/edit")
    await admin.send(text="Write to ann.nguyen@example.com")
    assert "replaced by a placeholder" in admin.words
    assert "ann.nguyen" not in admin.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", " \n "),
        ("text", "x" * (MAX_MEMORY_CHARS + 1)),
        ("importance", "11"),
        ("importance", "0"),
        ("importance", "much"),
        ("importance", "9" * 5000),
        ("tags", "x" * 101),
        ("tags", "\n".join(map(str, range(51)))),
    ],
)
async def test_an_edit_that_cant_be_kept_is_told_beside_its_field_and_nothing_is_lost(world, admin, field, value):
    (kept,) = await keep(world, RICH)
    await admin.get(f"/memory/admin/people/{world.gate.identity('ann')}/memories/{kept.entry_id}/edit")
    typed = {"text": "Another text", "importance": "3", "tags": "one\ntwo"} | {field: value}
    page = await admin.send(**typed)
    assert page.status_code == 422
    assert f'id="error.{field}"' in page.text
    assert {name: admin.fields()[name] for name in typed} == typed
    assert await world.memories.get(world.gate.identity("ann"), kept.entry_id) == kept


async def test_two_who_edit_the_same_memory_are_told_of_each_other(world, admin):
    (kept,) = await keep(world, RICH)
    await admin.get(f"/memory/admin/people/{world.gate.identity('ann')}/memories/{kept.entry_id}/edit")
    await keep(world, kept.model_copy(update={"text": "Ann gave her parrots away"}))
    page = await admin.send(text="Ann keeps three parrots")
    assert page.status_code == 422
    assert "somebody else changed this memory meanwhile" in admin.words
    assert "Ann gave her parrots away" in admin.words
    assert admin.fields()["text"] == "Ann keeps three parrots"
    assert (await admin.send()).status_code == 200
    stored = await world.memories.get(world.gate.identity("ann"), kept.entry_id)
    assert stored.text == "Ann keeps three parrots"


async def test_a_text_that_begins_with_an_empty_line_keeps_it(world, admin):
    (kept,) = await keep(world, MemoryRecord(text="\nsecond line"))
    await admin.get(f"/memory/admin/people/{world.gate.identity('ann')}/memories/{kept.entry_id}/edit")
    assert admin.fields()["text"] == "\nsecond line"


async def test_deleting_asks_first_and_then_deletes(world, admin):
    (kept,) = await keep(world, RICH)
    await open_user(admin)
    await follow(admin, "Ann keeps")
    await follow(admin, "Delete")
    assert "Delete this memory?" in admin.words
    assert RICH.text in admin.words
    assert await world.memories.get(world.gate.identity("ann"), kept.entry_id) is not None
    page = await admin.send()
    assert page.status_code == 200
    assert "The memory is deleted." in admin.words
    assert await world.memories.get(world.gate.identity("ann"), kept.entry_id) is None
    assert (await admin.post(str(page.history[0].url), {"form_token": admin.fields()["form_token"]})).status_code == 404


async def test_an_address_that_names_nothing_is_a_404_page(world, admin):
    for path in (
        "/people/u-1/memories/x",
        f"/people/u-1/memories/{uuid4()}",
        "/people/u-1/memories?older_than=x",
        f"/people/{'x' * 201}/memories",
    ):
        page = await admin.get(f"/memory/admin{path}")
        assert page.status_code == 404
        assert "<h1>" in page.text


async def test_the_question_explains_each_hit(world, admin):
    await world.store.change({"memory_retrieve_limit": 1, "memory_retrieve_threshold": 1.0}, by="x")
    await keep(
        world, RICH, MemoryRecord(text="A parrot bit her once", type="event"), MemoryRecord(text="Works as a nurse")
    )
    await keep(world, *(MemoryRecord(text=uuid4().hex) for _ in range(FEW_FACTS)))
    await keep(world, MemoryRecord(text="A parrot in another application", app_name="other"))
    await open_user(admin)
    await follow(admin, "Why is something recalled")
    page = await admin.send(question="How many grey parrots are there?")
    assert page.status_code == 200
    assert "in the prompt, number 1" in admin.words
    assert "It shares the words “grey” and “parrots” with the question." in admin.words
    assert "others come before it, and only the best one is taken" in admin.words
    assert "another application" not in admin.words
    assert "threshold 1.000" in admin.words
    assert all("parrot" not in str(step.url) for step in [page, *page.history])
    assert admin.fields()["question"] == "How many grey parrots are there?"


@pytest.mark.parametrize(
    ("field", "value"), [("question", ""), ("question", "x" * 501), ("app_name", ""), ("app_name", "x" * 201)]
)
async def test_a_question_that_cant_be_asked_is_told_beside_its_field(world, admin, field, value):
    await admin.get("/memory/admin/people/u-1/recall")
    page = await admin.send(**({"question": "kept", "app_name": "kept"} | {field: value}))
    assert page.status_code == 422
    assert f'id="error.{field}"' in page.text
    assert "kept" in admin.fields().values()


async def test_a_database_that_fails_is_a_503_page(world, admin, monkeypatch, caplog):
    from discreet.errors import StorageUnavailableError

    async def fails(*_args, **_options):
        raise StorageUnavailableError

    monkeypatch.setattr(InMemoryMemories, "latest", fails)
    page = await admin.get("/memory/admin/people/u-1/memories")
    assert page.status_code == 503
    assert "The database can't be reached" in admin.words
    assert "pages.failed area=admin cause=StorageUnavailableError" in caplog.text
