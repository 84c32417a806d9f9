"""What the redaction benchmark counts as leaked: places of the text, not letters that stand somewhere."""

import json
import re
from pathlib import Path

import pytest

from discreet.redaction import Finding, Redactor

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


class Pattern:
    """A recogniser of one pattern."""

    def __init__(self, pattern, type="SECRET"):
        self.type = type
        self._pattern = re.compile(pattern)

    def spans(self, view):
        return [match.span() for match in self._pattern.finditer(view.text)]


def row_of(marked, *, set="told_tuning", language="en", kind="a kind"):
    """Return a row whose values stand between ⟦ and ⟧."""
    from redacting.rows import Row, Value

    text, values = "", []
    for place, piece in enumerate(re.split("[⟦⟧]", marked)):
        if place % 2:
            values.append(Value(len(text), len(text) + len(piece), "SECRET", kind))
        text += piece
    return Row(set, language, text, tuple(values), negative=not values, evasion=None)


def spans_engine(*found):
    """Return an engine that answers with places, as the peers do."""
    from redacting.engines import Engine

    def find(_text, _language):
        return [Finding("SECRET", *place) for place in found]

    return Engine("peer", find, find)


def our_engine(pattern):
    from redacting.engines import Ours

    return Ours(Redactor(recognisers=[Pattern(pattern)]))


def leaks(engine, row):
    from redacting.catching import judge

    return [each.leaked for each in judge(engine, [row]).outcomes]


TWICE = "press 5 for sales, room 48213, and the door opens with ⟦48213⟧"


def test_a_value_is_caught_though_its_letters_stand_elsewhere_too():
    row = row_of(TWICE)
    (value,) = row.values
    assert leaks(spans_engine((value.start, value.end)), row) == [False]

    ours = our_engine("(?<=opens with )[0-9]+")
    assert "room 48213" in ours.redactor.redact(row.text)
    assert leaks(ours.engine(), row) == [False]


def test_a_value_leaks_though_the_same_letters_are_hidden_elsewhere():
    row = row_of(TWICE)
    elsewhere = row.text.index("48213")
    assert leaks(spans_engine((elsewhere, elsewhere + 5)), row) == [True]

    ours = our_engine("(?<=room )[0-9]+")
    assert ours.redactor.redact(row.text).count("<SECRET>") == 1
    assert leaks(ours.engine(), row) == [True]


def test_a_short_value_is_judged_where_it_stands_among_many_of_its_kind():
    row = row_of("call 5 or 6, the pin is ⟦5⟧, not 5 5 5")
    assert leaks(our_engine("(?<=pin is )5").engine(), row) == [False]
    assert leaks(our_engine("(?<=call )5").engine(), row) == [True]


def test_each_of_two_equal_values_is_judged_alone():
    row = row_of("old ⟦hunter⟧ and new ⟦hunter⟧")
    assert leaks(our_engine("(?<=new )hunter").engine(), row) == [True, False]


def test_a_value_of_which_more_than_a_fifth_stays_has_leaked():
    row = row_of("it is ⟦abcdefghij⟧ now")
    start = row.values[0].start
    assert leaks(spans_engine((start, start + 8)), row) == [False]
    assert leaks(spans_engine((start, start + 7)), row) == [True]


def test_letters_of_a_longer_placeholder_are_no_letters_of_the_value():
    row = row_of("I say ⟦SECRET⟧ and no more")
    assert leaks(our_engine("(?<=say )SECRET").engine(), row) == [False]


@pytest.mark.parametrize(
    ("text", "output", "hidden_places"),
    [
        ("call 5 or 5", "call 5 or <PIN>", [(10, 11)]),
        ("call 5 or 5", "call <PIN> or 5", [(5, 6)]),
        ("call 5 or 5", "call <PIN> or <PIN>", [(5, 6), (10, 11)]),
        ("card <CARD> 9121 and 9121", "card <CARD> 9121 and <PIN>", [(21, 25)]),
        ("card 2816 <CARD> 9121 declined", "card <CARD> declined", [(5, 21)]),
    ],
)
def test_an_output_alone_tells_where_its_placeholders_stand(text, output, hidden_places):
    from redacting.alignment import hidden

    assert [(each.start, each.end) for each in hidden(text, output, [])] == hidden_places


def test_an_output_that_is_not_its_input_counts_as_leaked():
    class Elsewhere:
        """Says that all is hidden, and answers something else."""

        def redact(self, _text):
            return "another text <SECRET>"

        def findings(self, text):
            return [Finding("SECRET", 0, len(text))]

    from redacting.engines import Ours

    ours = Ours(Elsewhere())
    assert leaks(ours.engine(), row_of("the pin is ⟦48213⟧")) == [True]
    assert ours.unaligned == 1


def test_texts_of_held_out_rows_are_never_listed():
    from redacting.catching import judge, misses

    rows = [row_of("the pin is ⟦48213⟧", set="told_held_out"), row_of("the pin is ⟦90817⟧", set="told_tuning")]
    result = judge(spans_engine(), rows)
    assert [each.leaked for each in result.outcomes] == [True, True]
    assert [each["value"] for each in misses(result)] == ["'90817'"]


@pytest.mark.slow
def test_phrases_are_counted_by_family_kind_and_language():
    from redacting import phrasing
    from redacting.catching import judge

    rows = phrasing.rows("tuning", seed=1)
    assert {phrasing.family(row) for row in rows} >= {"told", "addresses", "evasion", "pasted"}
    figures = list(phrasing.figures("tuning", judge(spans_engine(), rows)))
    values = sum(len(row.values) for row in rows)
    for dimension in ("kind", "language"):
        group = [each for each in figures if each.group.endswith(f"by {dimension}")]
        assert sum(each.count[1] for each in group) == values
        assert {each.value for each in group} == {100.0}
    masked = [each for each in figures if each.group.endswith("masked")]
    assert {each.value for each in masked} == {0.0}
    assert masked[0].count[1] == sum(row.negative for row in rows)


def made_rows():
    """Return rows as a held-out part could have them; the values of half of those that are told are at the start."""
    told = [
        row_of(marked, set="told_a_held_out", language=language, kind=kind)
        for marked in ("⟦48213⟧ it is", "it is ⟦48213⟧")
        for language, kind in (("en", "password told"), ("zh", "code told"), ("de", "account told"))
    ]
    return [
        *told,
        row_of("⟦48213⟧", set="told_a_held_out", kind="another kind"),
        row_of("at ⟦12 Main Street⟧", set="addresses_held_out"),
        row_of("⟦ann⟧ at example", set="evasion_held_out"),
        row_of("hello", set="pasted_held_out"),
    ]


def test_targets_are_about_kinds_and_languages_of_held_out_rows():
    from redacting import phrasing
    from redacting.catching import judge

    figures = phrasing.targets(judge(spans_engine((0, 5)), made_rows()), judge(spans_engine(), []))
    assert [(each.count, each.at_most, each.met) for each in figures if each.group == phrasing.TARGETS] == [
        ((2, 4), 3, False),
        ((1, 2), 15, False),
        ((1, 1), 15, False),
        ((0, 1), 10, True),
        ((1, 1), 1, False),
    ]


@pytest.mark.slow
def test_no_time_stamp_of_ten_thousand_may_be_masked():
    from redacting import phrasing
    from redacting.catching import judge
    from redaction_sets.timestamps import FORMS

    stamps = phrasing.stamps(seed=1)
    assert [row.text for row in stamps[:50]] == [row.text for row in phrasing.stamps(seed=1)[:50]]
    assert {row.set for row in stamps} == set(FORMS)
    for engine, count, met in ((spans_engine(), (0, 10_000), True), (spans_engine((0, 3)), (10_000, 10_000), False)):
        figures = list(phrasing.targets(judge(engine, []), judge(engine, stamps)))
        everything = next(each for each in figures if each.what == "all forms")
        assert (everything.count, everything.met, everything.at_most) == (count, met, 0)


def test_names_are_counted_in_the_languages_that_are_claimed():
    from redacting import naming
    from redacting.catching import judge

    rows = [
        row_of("⟦Ann⟧ here", set="names_tuning"),
        row_of("I'm ⟦Ann⟧", set="names_held_out"),
        row_of("May is warm", set="names_held_out"),
        row_of("⟦Анна⟧ здесь", set="names_held_out", language="ru"),
    ]
    claimed = frozenset({"en"})
    result = judge(spans_engine((0, 3)), naming.of_languages(claimed, rows))
    assert {each.what: each.count for each in naming.figures("peer", claimed, result)} == {
        "tuning, en: missed": (0, 1),
        "held-out, en: missed": (1, 1),
        "held-out, en: ordinary rows masked": (1, 1),
    }


def test_rows_of_names_say_where_the_names_stand():
    from redacting import naming

    rows = naming.rows(seed=1)
    assert {row.set for row in rows} == {"names_tuning", "names_held_out"}
    assert all(row.negative is not bool(row.values) for row in rows)
    assert all(row.text[each.start : each.end].strip() for row in rows for each in row.values)


def test_figures_of_an_earlier_run_stand_beside_those_of_now(tmp_path):
    from redacting.report import Figure, as_json, as_text, read_earlier

    then, now = (Figure("Leaked", "all", value, "%", at_most=3) for value in (12.5, 2.5))
    new = Figure("Leaked", "more", 1, "%")
    file = tmp_path / "earlier.json"
    file.write_text(as_json([then], [], {}))
    earlier = read_earlier(file)
    lines = as_text([now, new], [], {}, earlier).splitlines()
    assert [line for line in lines if "before 12.5" in line] == [
        line for line in lines if line.startswith(("  all ", "  met "))
    ]
    assert [each["before"] for each in json.loads(as_json([now, new], [], {}, earlier))["figures"]] == [12.5, None]
    assert "before" not in as_text([now, new], [], {})


@pytest.mark.parametrize("content", ["", "[]", '{"figures": [1]}', '{"figures": []}'])
def test_a_file_without_figures_is_no_earlier_run(tmp_path, content):
    from redacting.report import read_earlier

    file = tmp_path / "earlier.json"
    file.write_text(content)
    with pytest.raises(ValueError, match=r"no figures|Expecting"):
        read_earlier(file)
