"""Names of people in chat sentences, ordinary talk without them, and how recognisers do on both.

`python -m redaction_sets.names`, in benchmarks/, measures the recognisers of names that are installed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from redacting.rows import find_folder, read_sets
from redacting.statistics import Share

from discreet.errors import MissingDependencyError
from discreet.redaction import Redactor
from discreet.redaction.configured import SHORT_NAMES
from discreet.redaction.recognisers import Recogniser
from discreet.redaction.recognisers.presidio import PresidioRecogniser

SENTENCES = Path(__file__).with_suffix(".toml")
SLOT = re.compile(r"\{([a-z_]+)\}")
ENOUGH = 0.8
"""Share of the letters of a name that have to be masked."""

ENGLISH = (
    ("Emily", "James", "Olivia", "Marcus", "Priya", "Siobhan", "Dwayne", "Chloe", "Hector", "Grace", "Mark", "Yusuf"),
    (
        "Carter",
        "Hughes",
        "Bennett",
        "O'Connor",
        "Smith-Jones",
        "McAllister",
        "Young",
        "Kowalski",
        "Okafor",
        "Fernandez",
    ),
)
VIETNAMESE = (
    (
        "Nguyễn",
        "Trần",
        "Lê",
        "Phạm",
        "Huỳnh",
        "Hoàng",
        "Phan",
        "Vũ",
        "Võ",
        "Đặng",
        "Bùi",
        "Đỗ",
        "Hồ",
        "Ngô",
        "Dương",
        "Lý",
    ),
    ("Văn", "Thị", "Minh", "Ngọc", "Thu", "Quốc", "Đức", "Thanh", ""),
    ("Lan", "Hương", "Hùng", "Tuấn", "Trang", "Sơn", "Linh", "Phúc", "Quỳnh", "Đạt", "Yến", "Khoa"),
)
CHINESE = (
    *(("王", "李", "张", "刘", "陈", "杨", "黄", "赵", "周", "吴", "徐", "孙", "马", "朱", "胡", "林", "郭", "何", "高", "欧阳", "上官"),),
    ("伟", "芳", "秀英", "志强", "敏", "静", "丽华", "建国", "子涵", "雨桐", "浩然", "婷婷", "文博", "佳怡", "明轩", "晓东"),
)  # fmt: skip
TRADITIONAL = (
    ("陳", "張", "劉", "黃", "楊", "趙", "吳", "孫", "馬", "葉", "鄭", "許", "蔡", "蕭", "歐陽"),
    ("偉", "麗華", "志強", "靜", "建國", "怡君", "雅婷", "家豪", "淑芬", "俊傑"),
)
SIGN_OF_TRADITIONAL = re.compile("[請嗎謝開戶聯絡]")
MEN = (
    *(("Иван", "Ивана", "Ивану", "Иваном"), ("Олег", "Олега", "Олегу", "Олегом")),
    *(("Дмитрий", "Дмитрия", "Дмитрию", "Дмитрием"), ("Тимур", "Тимура", "Тимуру", "Тимуром")),
    *(("Артём", "Артёма", "Артёму", "Артёмом"), ("Павел", "Павла", "Павлу", "Павлом")),
)
WOMEN = (
    *(("Анна", "Анны", "Анне", "Анной"), ("Ольга", "Ольги", "Ольге", "Ольгой")),
    *(("Светлана", "Светланы", "Светлане", "Светланой"), ("Юлия", "Юлии", "Юлии", "Юлией")),
    *(("Гульнара", "Гульнары", "Гульнаре", "Гульнарой"), ("Вера", "Веры", "Вере", "Верой")),
)
FAMILIES = ("Смирнов", "Кузнецов", "Волков", "Зайцев", "Ахметов", "Голубев", "Никитин", "Соколов", "Чернышов", "Гущин")
FATHERS = ("Иванов", "Петров", "Сергеев", "Андреев", "Маратов", "Викторов")
CASES = ("nom", "gen", "dat", "ins")


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A text and where names stand in it."""

    language: str
    kind: str
    """`introduced`, `mentioned` or `ordinary`."""
    half: str
    """`tuning` or `held_out`."""
    text: str
    spans: tuple[tuple[int, int], ...]


def rows(seed: int = 7) -> Iterator[NamedRow]:
    """Return all sentences with a name in each slot."""
    for language, kinds in tomllib.loads(SENTENCES.read_text("utf-8")).items():
        for kind, lines in kinds.items():
            number = 0
            for line in lines.strip().splitlines():
                rng = random.Random(f"{seed} {language} {kind} {number}")
                text, spans = _filled(line.replace("\\n", "\n"), language, rng)
                yield NamedRow(language, kind, ("tuning", "held_out")[number % 2], text, spans)
                number += 1 + text.count("\n")


def _filled(line: str, language: str, rng: random.Random) -> tuple[str, tuple[tuple[int, int], ...]]:
    parts: list[str] = []
    spans = []
    done = length = 0
    person: dict[str, str] = {}
    for match in SLOT.finditer(line):
        if not person or match[1] in person.pop("used", ""):
            person = MAKERS[language](rng, line)
        before, name = line[done : match.start()], person[match[1]]
        person["used"] = f"{person.get('used', '')} {match[1]}"
        parts += before, name
        spans.append((length + len(before), length + len(before) + len(name)))
        length += len(before) + len(name)
        done = match.end()
    return "".join([*parts, line[done:]]), tuple(spans)


def _english(rng: random.Random, _: str) -> dict[str, str]:
    given, family = map(rng.choice, ENGLISH)
    full = f"{given} {family}"
    return {"given": given, "family": family, "full": full, "lower": full.lower()}


def _vietnamese(rng: random.Random, _: str) -> dict[str, str]:
    full = " ".join(filter(None, map(rng.choice, VIETNAMESE)))
    plain = full.translate(_WITHOUT_MARKS)
    return {"full": full, "lower": full.lower(), "plain": rng.choice((plain, plain.lower()))}


def _plain_letters() -> dict[int, str]:
    letters = {char for group in VIETNAMESE for name in group for char in name}
    table = {ord(char): unicodedata.normalize("NFD", char)[0] for char in letters}
    return table | {ord("đ"): "d", ord("Đ"): "D"}


_WITHOUT_MARKS = _plain_letters()


def _chinese(rng: random.Random, line: str) -> dict[str, str]:
    families, given = TRADITIONAL if SIGN_OF_TRADITIONAL.search(line) else CHINESE
    family = rng.choice(families)
    return {"family": family, "full": family + rng.choice(given)}


def _russian(rng: random.Random, _: str) -> dict[str, str]:
    person: dict[str, str] = {}
    for gender in rng.sample("mf", 2):
        given = rng.choice(MEN if gender == "m" else WOMEN)
        family = rng.choice(FAMILIES)
        father = rng.choice(FATHERS)
        families = [family + end for end in (("", "а", "у", "ым") if gender == "m" else ("а", "ой", "ой", "ой"))]
        middle = "ич" if gender == "m" else "н"
        fathers = [father + middle + end for end in (("", "а", "у", "ем") if gender == "m" else ("а", "ы", "е", "ой"))]
        for place, case in enumerate(CASES):
            forms = {
                "given": given[place],
                "family": families[place],
                "full": f"{given[place]} {families[place]}",
                "polite": f"{given[place]} {fathers[place]}",
                "official": f"{families[place]} {given[place]} {fathers[place]}",
            }
            ending = "" if case == "nom" else f"_{case}"
            for name, form in forms.items():
                person[f"{name}_{gender}{ending}"] = person[f"{name}{ending}"] = form
    return person | {"lower": person["full"].lower()}


MAKERS: Mapping[str, Callable[[random.Random, str], dict[str, str]]] = {
    "en": _english,
    "vi": _vietnamese,
    "ru": _russian,
    "zh": _chinese,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each recogniser of names finds, and which ordinary rows it masks."""
    parser = argparse.ArgumentParser(prog="python -m redaction_sets.names", description=main.__doc__)
    parser.add_argument("--sets", type=Path, help="a folder with labelled sets, as for redaction.py")
    parser.add_argument("--model", action="append", help="a spaCy model for presidio, instead of the usual ones")
    parser.add_argument(
        "--show", choices=("tuning", "held_out"), help="print the names missed and the rows masked of a half"
    )
    options = parser.parse_args(arguments)
    given = list(rows())
    others = list(_other_rows(find_folder(options.sets)))
    for short in SHORT_NAMES:
        if short == "kingfisher":
            continue
        try:
            recogniser = (
                PresidioRecogniser(models=options.model) if short == "presidio" and options.model else _named(short)
            )
            _measure(short, recogniser, [*given, *others], options.show)
        except MissingDependencyError as error:
            print(f"{short}: {error}")


def _other_rows(folder: Path | None) -> Iterator[NamedRow]:
    """Yield the rows of a folder of sets: those with names, and as ordinary ones those without."""
    if folder is None:
        return
    for path in sorted((folder / "redaction").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            spans = tuple((each["start"], each["end"]) for each in row["spans"] if each["type"] == "PERSON")
            kind = f"set {path.stem}" if spans else "ordinary, sets"
            if spans or not path.stem.startswith("presidio"):
                yield NamedRow(row["lang"][:2], kind, "all", row["text"], spans)
    for turn in read_sets(folder).turns:
        yield NamedRow("en", "ordinary, chat of two", "all", turn, ())


def _named(short: str) -> Recogniser:
    return resolve_name(SHORT_NAMES[short])()  # type: ignore[no-any-return]  # a recogniser's class


def _measure(short: str, recogniser: Recogniser, given: Sequence[NamedRow], shown: str | None) -> None:
    redactor = Redactor(recognisers=[recogniser])
    language = {"presidio": "en"}.get(short, short.removeprefix("names-"))
    counted: dict[tuple[str, str], Share] = {}
    redactor.findings(given[0].text)
    seconds, chars = 0.0, 0
    for row in given:
        if row.language != language and not row.kind.startswith("ordinary"):
            continue
        began = time.process_time()
        masked = [(each.start, each.end) for each in redactor.findings(row.text)]
        seconds += time.process_time() - began
        chars += len(row.text)
        bad = row.kind.startswith("ordinary") and masked
        missed = [
            span for span in row.spans if not row.kind.startswith("ordinary") and not _covered(row.text, span, masked)
        ]
        scope = row.kind if row.language == language else "ordinary, other languages"
        many = (
            Share(bool(bad), 1)
            if row.kind.startswith("ordinary")
            else Share(len(row.spans) - len(missed), len(row.spans))
        )
        counted[scope, row.half] = counted.get((scope, row.half), Share()) + many
        if row.half == shown and (bad or missed):
            where = masked if bad else missed
            print(f"  {short} {row.kind}: {row.text!r} {[row.text[start:end] for start, end in where]}")
    print(f"{short} ({1000 * seconds / max(1, chars / 1000):.2f} ms CPU for 1,000 characters)")
    for (kind, half), share in counted.items():
        low, high = share.interval
        word = "masked" if kind.startswith("ordinary") else "found"
        print(
            f"  {kind:26} {half:9} {share.bad:5} of {share.total:5} {word}: {share.rate:5.1f} % ({low:.1f}-{high:.1f})"
        )


def _covered(text: str, span: tuple[int, int], masked: Sequence[tuple[int, int]]) -> bool:
    places = [place for place in range(*span) if text[place].isalnum()]
    gone = [place for place in places if any(start <= place < end for start, end in masked)]
    return len(gone) >= ENOUGH * len(places)


if __name__ == "__main__":
    main()
