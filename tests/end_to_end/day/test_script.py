"""The day itself: that its checks can't pass or fail by an accident of its words."""

from scripted_day.dump import runs
from scripted_day.script import LANGUAGES, planted, read_day, tool_rows

DAY = read_day()


def test_the_day_has_200_turns_in_four_languages():
    assert [sum(turn.language == each for turn in DAY.turns) for each in LANGUAGES] == [50] * 4
    assert max(sum(turn.thread == each.thread for turn in DAY.turns) for each in DAY.turns) > 20


def test_a_message_is_known_by_its_words():
    assert len({turn.said for turn in DAY.turns}) == len(DAY.turns)


def test_a_planted_word_is_said_by_one_person_alone():
    for who in DAY.people:
        others = " ".join(
            f"{turn.said} {' '.join(turn.facts)} {turn.answer}" for turn in DAY.turns if turn.who != who
        ).casefold()
        assert [word for word in planted(DAY.turns, who) if word.casefold() in others] == []


def test_what_is_asked_was_planted_and_does_not_stand_in_the_question():
    for turn in DAY.turns:
        before = planted(DAY.turns[: turn.number], turn.who)
        assert set(turn.knows) | set(turn.gone) <= before
        assert [word for word in turn.knows if word.casefold() in turn.said.casefold()] == []
        text = f"{turn.said} {' '.join(turn.facts)}".casefold()
        assert [word for word in turn.plant if word.casefold() not in text] == []


def test_nothing_that_is_kept_quotes_a_recording():
    kept = [runs(text) for turn in DAY.turns if not turn.is_voice for text in (turn.said, turn.answer, *turn.facts)]
    for turn in DAY.turns:
        if turn.is_voice:
            assert len(runs(turn.said)) > 10
            assert [each for each in [*kept, runs(turn.heard), *map(runs, turn.save)] if each & runs(turn.said)] == []


def test_a_result_has_twenty_kilobytes():
    for turn in DAY.turns:
        if turn.tool:
            assert 15_000 < len("\n".join(tool_rows(turn.tool))) < 25_000
