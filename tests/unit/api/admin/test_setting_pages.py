"""Settings: all are shown, changed ones are saved, and nothing typed is lost."""

import re
from dataclasses import replace

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from testkit.pages import Web

from discreet.api.admin import make_admin_router
from discreet.api.admin.setting_fields import OTHERS, in_groups, setting_fields
from discreet.api.admin.setting_notes import setting_notes
from discreet.api.admin.settings_form import fresh_form, submitted_form
from discreet.settings import Settings
from discreet.state.described import field_descriptions
from discreet.state.memory_settings import MemorySettings, Triggers

NAMES = list(MemorySettings.model_fields)
FIELDS = setting_fields()


@pytest.fixture
async def admin(admin):
    """A browser that is signed in, at the settings."""
    await admin.get("/memory/admin/settings")
    return admin


def test_every_setting_is_in_one_group():
    grouped = [name for _, names in in_groups(FIELDS) for name in names]
    assert sorted(grouped) == sorted(NAMES)


async def test_every_setting_is_shown_with_its_description_bounds_and_source(world, admin):
    await world.store.change({"memory_retrieve_limit": 7}, by="x")
    page = await admin.get("/memory/admin/settings")
    described = field_descriptions(MemorySettings)
    for name in NAMES:
        assert f'for="set.{name}"' in page.text
        assert f'id="hint.{name}"' in page.text
        assert described[name].split("`")[0] in admin.words
    limit = re.search(r'<input id="set.memory_retrieve_limit"[^>]*>', page.text)[0]
    assert 'type="number"' in limit
    assert 'min="1"' in limit
    assert 'max="50"' in limit
    assert 'value="7"' in limit
    assert page.text.count('class="badge set"') == 1
    assert admin.words.count("Memory retrieve limit set here") == 1
    assert "Give “Memory retrieve limit” back" in admin.words


def badge(admin, name):
    """Return where the page says that a value comes from."""
    return re.search(rf'<label for="set.{name}">[^<]*<span class="badge[^"]*">([^<]*)<', admin.text)[1]


async def test_a_badge_tells_what_is_set_here_what_the_environment_says_and_what_is_a_default(world):
    settings = Settings(_env_file=None, retrieve_threshold=0.7, retention_log_days=60)
    app = FastAPI()
    app.include_router(make_admin_router(replace(world.services, settings=settings)))
    await world.store.change({"memory_retrieve_limit": 7, "retention_log_days": 40}, by="x")
    web = Web(app)
    async with web.http:
        await web.sign_in(world.gate.boss)
        await web.get("/memory/admin/settings")
        assert badge(web, "memory_retrieve_limit") == "set here"
        assert badge(web, "retention_log_days") == "set here"
        assert badge(web, "memory_retrieve_threshold") == "from the environment"
        assert badge(web, "max_memories_per_user") == "default"
        assert web.text.count(">from the environment<") == 1


async def test_a_setting_that_does_nothing_says_so(world, admin):
    await world.store.change({"memory_extraction_enabled": False}, by="x")
    page = await admin.get("/memory/admin/settings")
    said = re.search(r'id="note.memory_trigger_message_count">(.*?)</p>', page.text, re.DOTALL)[1]
    assert "Does nothing while extraction is off." in said
    assert 'aria-describedby="hint.memory_trigger_message_count note.memory_trigger_message_count"' in page.text
    assert 'id="note.memory_extraction_enabled"' not in page.text
    assert 'id="note.memory_retrieve_limit"' not in page.text


async def test_the_form_takes_0_for_what_is_to_be_kept(world, admin):
    await world.store.change({"retention_log_days": 30}, by="x")
    page = await admin.get("/memory/admin/settings")
    field = re.search(r'<input id="set.retention_log_days"[^>]*>', page.text)[0]
    assert 'min="0"' in field
    await admin.send(set__retention_log_days="0", set__retention_checkpoint_days="4000")
    assert "The settings are saved." in admin.words
    assert (world.store.live.retention_log_days, world.store.live.retention_checkpoint_days) == (0, 4_000)


LIVE = MemorySettings(
    embedding_provider="openai", embedding_model="text-embedding-3-small", memory_extraction_provider="openai"
)


@pytest.mark.parametrize(
    ("live", "embeds_with", "names"),
    [
        (LIVE, None, set()),
        (LIVE, "openai:text-embedding-3-small:1536", set()),
        (LIVE, "openai:text-embedding-3-small-x:1536", {"embedding_model", "embedding_provider"}),
        (LIVE, "stub:letters:256", {"embedding_model", "embedding_provider"}),
        (LIVE.model_copy(update={"embedding_provider": "local"}), "local:e5:384", {"embedding_model"}),
        (LIVE.model_copy(update={"memory_extraction_provider": "offline"}), None, {"memory_extraction_model"}),
    ],
)
def test_an_embedding_model_that_an_argument_gave_is_told_beside_its_setting(live, embeds_with, names):
    notes = setting_notes(live, embeds_with=embeds_with)
    assert set(notes) == names | {"history_migration"}
    if "embedding_provider" in names:
        assert embeds_with in notes["embedding_provider"]


@pytest.mark.slow
async def test_a_change_is_saved_under_the_pseudonym_of_who_made_it(world, admin):
    page = await admin.send(set__memory_retrieve_limit="9", set__memory_extraction_enabled="off")
    assert page.status_code == 200
    assert "The settings are saved." in admin.words
    assert world.store._values == {"memory_retrieve_limit": 9, "memory_extraction_enabled": False}
    assert {change.changed_by for change in world.store._changes} == {world.gate.identity("boss")}


async def test_a_form_that_changes_nothing_saves_nothing(world, admin):
    await admin.send()
    assert world.store._changes == []
    assert "The settings are saved." not in admin.words


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("memory_retrieve_limit", "900"),
        ("memory_retrieve_limit", "many"),
        ("memory_retrieve_limit", "5.5"),
        ("memory_retrieve_limit", ""),
        ("memory_dedup_threshold", "nan"),
        ("memory_dedup_threshold", "1e9"),
        ("embedding_model", "a model <b>"),
        ("embedding_model", "x" * 201),
        ("memory_extraction_provider", "nobody"),
        ("memory_extraction_enabled", "perhaps"),
        ("memory_trigger_inactivity_minutes", "-1"),
        ("memory_trigger_apps", '{"shop": 5}'),
        ("memory_trigger_apps", '{"shop": {"someday": 5}}'),
        ("memory_trigger_apps", "the shop, sooner"),
    ],
)
async def test_a_value_that_cant_be_used_is_told_beside_its_field_and_nothing_is_lost(world, admin, name, typed):
    page = await admin.send(**{f"set__{name}": typed, "set__context_window_size": "8000"})
    assert page.status_code == 422
    assert world.store._changes == []
    field = re.search(rf'<(?:input|select|textarea) id="set.{name}"[^>]*>', page.text)[0]
    assert re.search(rf'aria-describedby="hint.{name} (?:note.{name} )?error.{name}"', field)
    assert 'aria-invalid="true"' in field
    assert f'id="error.{name}"' in page.text
    assert 'role="alert"' in page.text
    kept = admin.fields()
    assert kept["set.context_window_size"] == "8000"
    if not FIELDS[name].choices:
        assert kept[f"set.{name}"] == typed


async def test_triggers_of_applications_are_written_as_json_in_several_lines(world, admin):
    await admin.get("/memory/admin/settings")
    assert re.search(r'<textarea id="set.memory_trigger_apps"[^>]* rows="3"', admin.text)
    assert 'JSON such as {"shop": {"inactivity_minutes": 5, "session_end": false}}' in admin.words
    for name in Triggers.model_fields:
        assert name in re.search(r'id="hint.memory_trigger_apps">(.*?)</p>', admin.text, re.DOTALL)[1]
    typed = '{"shop": {"inactivity_minutes": 5},\n "bank": {"session_end": false}}'
    page = await admin.send(set__memory_trigger_apps=typed)
    assert page.status_code == 200
    assert world.store.live.memory_trigger_apps == typed
    assert admin.fields()["set.memory_trigger_apps"] == typed
    assert world.store.live.triggers_of("shop").inactivity_minutes == 5
    await admin.send(set__memory_trigger_apps="")
    assert world.store.live.memory_trigger_apps == ""


def test_what_starts_extraction_stands_together():
    groups = dict(in_groups(FIELDS))
    assert "memory_extraction_interval_hours" in groups["When a conversation is worked on"]
    assert "memory_trigger_compaction" in groups["When a conversation is worked on"]
    assert {"memory_extraction_review", "memory_session_summaries"} <= set(groups["Extraction"])
    assert OTHERS not in groups


async def test_what_does_not_go_together_is_told_beside_both(world, admin):
    page = await admin.send(set__memory_dedup_threshold="0.99")
    assert page.status_code == 422
    assert world.store._changes == []
    for name in ("memory_dedup_threshold", "memory_update_threshold"):
        assert f'id="error.{name}"' in page.text
    assert admin.fields()["set.memory_dedup_threshold"] == "0.99"


async def test_a_setting_is_given_back_to_the_environment(world, admin):
    await world.store.change({"memory_retrieve_limit": 7, "context_window_size": 9000}, by="x")
    await admin.get("/memory/admin/settings")
    await admin.send(back__memory_retrieve_limit="on")
    assert world.store._values == {"context_window_size": 9000}


async def test_a_decimal_comma_is_understood(world, admin):
    await admin.send(set__memory_retrieve_threshold="0,7")
    assert world.store._values == {"memory_retrieve_threshold": 0.7}


async def test_two_administrators_at_once_are_told_of_each_other(world, admin):
    await world.store.change({"memory_retrieve_limit": 7, "context_window_size": 9000}, by="x")
    page = await admin.send(set__memory_retrieve_limit="9")
    assert page.status_code == 409
    assert "Somebody else changed this meanwhile, to 7." in admin.words
    assert world.store.live.memory_retrieve_limit == 7
    assert admin.fields()["set.memory_retrieve_limit"] == "9"
    assert admin.fields()["set.context_window_size"] == "9000"
    page = await admin.send()
    assert page.status_code == 200
    assert world.store.live.memory_retrieve_limit == 9
    assert world.store.live.context_window_size == 9000


async def test_what_somebody_else_changed_is_not_undone_by_a_form_that_leaves_it_alone(world, admin):
    await world.store.change({"context_window_size": 9000}, by="x")
    page = await admin.send(set__memory_retrieve_limit="9")
    assert page.status_code == 200
    assert world.store._values == {"context_window_size": 9000, "memory_retrieve_limit": 9}


async def test_giving_back_what_somebody_else_gave_back_is_no_conflict(world, admin):
    await world.store.change({"memory_retrieve_limit": 7}, by="x")
    await admin.get("/memory/admin/settings")
    await world.store.change({"memory_retrieve_limit": None}, by="y")
    page = await admin.send(back__memory_retrieve_limit="on")
    assert page.status_code == 200
    assert world.store._values == {}


async def test_what_is_typed_is_escaped(admin):
    hostile = "\"'><script>alert(1)</script>"
    page = await admin.send(set__embedding_model=hostile)
    assert "<script" not in page.text
    assert admin.fields()["set.embedding_model"] == hostile


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=20)))
def test_nothing_typed_is_lost_and_no_change_is_out_of_bounds(typed):
    current = MemorySettings()
    form = fresh_form(FIELDS, current, ())
    posted = {f"loaded.{name}": line.loaded for name, line in form.lines.items()}
    posted |= {f"set.{name}": line.typed for name, line in form.lines.items()}
    posted |= {f"set.{name}": value for name, value in typed.items()}
    form = submitted_form(FIELDS, posted, current, ())
    for name, value in typed.items():
        assert form.lines[name].typed.strip() == value.strip()
    if not form.wrong:
        for name, value in form.changes.items():
            MemorySettings(**{"memory_dedup_threshold": 0, "memory_update_threshold": 1} | {name: value})


async def test_history_is_newest_first_and_in_pages(world, admin):
    for limit in range(1, 31):
        await world.store.change({"memory_retrieve_limit": limit}, by="u-boss")
    page = await admin.get("/memory/admin/history")
    steps = re.findall(r'value">(\d+)</span>\s*</p>', page.text)
    assert steps[:2] == ["30", "29"]
    assert len(steps) == 25
    assert "Newest changes" not in admin.words
    older = re.search(r'href="([^"]*before=[^"]*)"', page.text)[1]
    page = await admin.get(older.replace("&amp;", "&"))
    assert re.findall(r'value">(\d+)</span>\s*</p>', page.text) == ["5", "4", "3", "2", "1"]
    assert "not set here" in admin.words
    assert "Older changes" not in admin.words


@pytest.mark.parametrize("query", ["before=x", "before=-1", "before=99999999999999999999", "name=none", "before=²"])
async def test_an_odd_address_of_the_history_shows_the_newest(admin, query):
    assert (await admin.get(f"/memory/admin/history?{query}")).status_code == 200
