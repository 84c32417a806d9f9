import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

SETS = Path(__file__).parents[3] / "benchmarks/gate_sets"
PARTS = ["tune", "held_out"]
LANGS = ["en", "vi", "ru", "zh"]
LABELS = ["retrieve", "skip"]


def rows(part):
    return [json.loads(line) for line in (SETS / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]


ADVERSARIAL = ["adversarial_tune", "adversarial_tune_b", "adversarial_held_out"]


@pytest.mark.parametrize("part", ADVERSARIAL)
def test_adversarial_rows_are_well_formed(part):
    for row in rows(part):
        assert list(row) == ["lang", "text", "previous", "label", "kind"]
        assert row["text"] == row["text"].strip() != ""
        assert row["lang"] in LANGS
        assert row["label"] in LABELS
        assert row["previous"] is None or list(row["previous"]) == ["user", "assistant"]


@pytest.mark.parametrize("part", ADVERSARIAL)
def test_each_language_has_as_many_adversarial_turns(part):
    counts = Counter((row["lang"], row["label"]) for row in rows(part))
    assert {count for (_, label), count in counts.items() if label == "retrieve"} == {36}
    assert {count for (_, label), count in counts.items() if label == "skip"} == {24}


def is_traditional(text):
    """Whether `text` has a character that Big5 knows and GB 2312 doesn't."""
    return any(c.encode("big5", "ignore") and not c.encode("gb2312", "ignore") for c in text)


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_well_formed(part):
    for row in rows(part):
        assert list(row) == ["text", "lang", "label", "kind"]
        assert row["text"] == row["text"].strip() != ""
        assert row["lang"] in LANGS
        assert row["label"] in LABELS
        assert row["kind"].replace("_", "").isalpha()


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("part", PARTS)
def test_each_language_has_enough_turns_of_either_label(part, lang):
    labels = Counter(row["label"] for row in rows(part) if row["lang"] == lang)
    assert labels.total() >= 150
    assert 0.45 <= labels["retrieve"] / labels.total() <= 0.55


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("part", PARTS)
def test_no_kind_dominates_its_label(part, lang):
    kinds = {label: Counter() for label in LABELS}
    for row in rows(part):
        if row["lang"] == lang:
            kinds[row["label"]][row["kind"]] += 1
    assert all(max(counts.values()) <= 0.35 * counts.total() for counts in kinds.values())


def test_a_kind_has_one_label():
    labels = defaultdict(set)
    for part in [*PARTS, "adversarial_tune", "adversarial_tune_b"]:
        for row in rows(part):
            labels[row["kind"]].add(row["label"])
    assert {kind for kind, seen in labels.items() if len(seen) != 1} == set()


def test_no_turn_occurs_twice():
    for parts in (PARTS, *([part] for part in ADVERSARIAL)):
        texts = Counter(" ".join(row["text"].casefold().split()) for part in parts for row in rows(part))
        assert [text for text, count in texts.items() if count > 1] == []


@pytest.mark.parametrize("part", PARTS)
def test_both_labels_have_turns_without_accents_and_in_both_scripts(part):
    for label in LABELS:
        texts = defaultdict(list)
        for row in rows(part):
            if row["label"] == label:
                texts[row["lang"]].append(row["text"])
        assert sum(text.isascii() for text in texts["vi"]) >= 0.15 * len(texts["vi"])
        assert 0.25 <= sum(map(is_traditional, texts["zh"])) / len(texts["zh"]) <= 0.5
