"""A day of 200 turns in four languages through each of the three doors, each on a database of its own."""

import pytest
from kit.places import files, text_of
from scripted_day import checks
from scripted_day.chat import play_chat
from scripted_day.dump import dump, runs
from scripted_day.model import model_of
from scripted_day.script import read_day
from scripted_day.server import play_server
from scripted_day.turn_runner import play_runner

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["chat", "runner", "server"])
def played(request, tmp_path_factory, house):
    folder = tmp_path_factory.mktemp(request.param)
    with model_of(read_day()) as model:
        if request.param == "chat":
            yield play_chat(model.day, model, house, folder)
        elif request.param == "runner":
            yield play_runner(model, house, folder)
        else:
            yield play_server(model, house, folder)


def test_every_turn_is_answered_without_an_error(played, record_property):
    record_property("figure", f"{len(played.answers)} turns in {played.seconds:.0f} s")
    checks.none_of(checks.errors(played))
    checks.none_of(checks.unanswered(played))


def test_every_planted_fact_is_recalled(played, record_property):
    asked = sum(bool(turn.knows) for turn in played.day.turns)
    record_property("figure", f"{checks.recalled_by_tool(played)} of {asked} questions took recall_memory")
    checks.none_of(checks.not_recalled(played))


def test_the_new_state_of_a_fact_stands_above_the_old_one(played):
    checks.none_of(checks.outdated(played))


def test_what_was_forgotten_stands_in_no_later_prompt(played):
    checks.none_of(checks.not_gone(played))


def test_nobody_is_told_what_another_person_said(played):
    checks.none_of(checks.mixed(played))


def test_long_threads_have_rolling_summaries(played):
    assert any(prompt.turn is None and "<transcript>" not in prompt.text for prompt in played.model.prompts)


def test_no_transcript_no_private_value_and_no_tool_result_is_in_a_table_or_was_written_out(played):
    texts = dump(played.data_dir)
    kept = next(turn for turn in played.day.turns if turn.tool)
    assert runs(kept.said) <= runs("\n".join(texts.values()))  # the same search finds what is kept
    checks.none_of(checks.leaked(played, {**texts, "output": played.output}))


@pytest.mark.parametrize("played", ["server"], indirect=True)
def test_no_transcript_no_private_value_and_no_tool_result_is_in_the_servers_own_files(played):
    paths = [path for path in played.folder.rglob("*") if ".langgraph_api" in path.parts]
    checks.none_of(checks.leaked(played, {path: text_of(data) for path, data in files(played.folder, paths)}))
