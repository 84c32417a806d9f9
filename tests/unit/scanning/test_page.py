import re
from html.parser import HTMLParser

import pytest
from testkit.scan_reports import AT, REPORTS, SCRIPT, TRILLION, report_of, table_of, usage_of, usual, worst

from discreet.scanning.page import render
from discreet.scanning.page.charts import bar, plot, stacks
from discreet.scanning.page.figures import moment, share, statement
from discreet.scanning.report import GrowthStep


class Reader(HTMLParser):
    """Notes which elements a page has, with which attributes, and its text."""

    VOID = ("meta", "link", "rect", "line", "circle", "wbr")

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = set(), [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_is_well_formed_and_needs_nothing_else(name):
    page = render(REPORTS[name]())
    read = Reader(page)
    assert read.open == []
    assert read.tags.isdisjoint({"script", "img", "iframe", "object", "base", "form"})
    assert {value for key, value in read.attributes if key in {"href", "src"}} == {"data:,", "#content"}
    assert not any(key.startswith("on") for key, _ in read.attributes)
    assert "url(" not in page
    assert "@import" not in page


def test_the_result_comes_first_then_totals():
    page = Reader(render(usual())).text
    assert "41,203 sensitive values in 3 of 6 tables" in page
    for told in ("EMAIL27,004", "PHONE7,332", "kept: 700.0 MB, 6 %", "freed: 11.9 GB, 94 %", "Days between412"):
        assert told in page
    assert "Oldest checkpoint2025-01-13 09:30 UTC" in page
    assert "public.orders 1,204,332" in page
    assert "channel values, blob: damaged14" in page
    assert "public.checkpoints 144" in page
    assert "Rows per second36" in page
    assert "discreet scrub" in page


def test_names_of_a_foreign_database_are_text_and_nothing_else():
    page = render(worst())
    assert SCRIPT not in page
    assert SCRIPT in Reader(page).text
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_all_tables_are_there_however_many():
    page = render(worst())
    assert page.count('role="rowheader"') == 60
    assert f"{60 * 2 * TRILLION:,}" in Reader(page).text
    assert "53 other tables" not in page
    assert "54 other tables" in page
    assert "0.01 % of the threads" in page


def test_nothing_found_is_good_news_only_if_all_could_be_read():
    assert 'class="hero good"' in render(report_of(table_of("store")))
    for less in (report_of(), report_of(table_of("store"), sample=0.5), report_of(table_of("store", unreadable=2))):
        assert 'class="hero unsure"' in render(less)
    assert 'class="hero"' in render(report_of(table_of("store", in_ids={"EMAIL": 1})))


def test_charts_have_names_that_say_what_they_show():
    labels = [value for key, value in Reader(render(usual())).attributes if key == "aria-label"]
    assert "EMAIL: public.checkpoint_blobs 21,320, public.checkpoint_writes 4,240, public.checkpoints 1,444" in labels
    assert any(label.startswith("Mean size of a thread") and "1,000: 240.0 MB, 3 threads" in label for label in labels)
    assert "Freed: 94 % of 12.6 GB" in labels


def test_without_usage_there_is_no_chart_of_it():
    page = Reader(render(report_of(table_of("store", {"EMAIL": 1})))).text
    assert "Growth of threads" not in page
    assert "1 sensitive value in 1 of 1 table" in page


def test_a_database_without_threads_has_a_page():
    none = usage_of(threads=0, checkpoints=0, bytes=0, prunable_bytes=0, largest=[], growth=[], newest=None)
    assert "freed: 0 bytes, 0 %" in Reader(render(report_of(table_of("store"), usage=none))).text


def test_a_page_holds_no_other_digits_than_the_report():
    longest = max(re.findall(r"[0-9a-f]{12,}", render(usual())), key=len)
    assert len(longest) == 12


def test_the_parts_of_a_bar_never_leave_it_and_none_is_invisible():
    parts = bar([TRILLION, 1, 0, 1], TRILLION + 2)
    assert [part.series for part in parts] == [0, 1, 3]
    assert sum(part.width for part in parts) <= 100
    assert bar([5, TRILLION], TRILLION + 5)[0].width == 1
    assert bar([0], 0) == []


def test_the_smaller_series_of_many_are_one():
    series, bars = stacks({"EMAIL": {f"t{n}": 10 - n for n in range(10)}})
    assert series == ["t0", "t1", "t2", "t3", "t4", "t5", "4 other tables"]
    assert bars["EMAIL"][-1].amount == 4 + 3 + 2 + 1
    assert stacks({}) == ([], {})


def test_growth_is_drawn_by_powers_of_ten():
    drawn = plot([GrowthStep(checkpoints=10**n, threads=1, mean_bytes=10 ** (2 * n + 1)) for n in range(4)])
    across = [x for x, _, _ in drawn.points]
    assert across[1] - across[0] == pytest.approx(across[3] - across[2], abs=0.02)
    assert drawn.points[-1][1] < drawn.proportional < drawn.points[0][1]
    assert [text for _, text in drawn.up][:3] == ["10 B", "100 B", "1 kB"]
    assert [text for _, text in drawn.across] == ["1", "10", "100", "1k"]


def test_growth_needs_two_steps():
    assert plot([]) is None
    assert plot([GrowthStep(checkpoints=5, threads=3, mean_bytes=100)]) is None
    same = [GrowthStep(checkpoints=checkpoints, threads=1, mean_bytes=1_000) for checkpoints in (1, 2)]
    assert plot(same) is not None


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "0 %"), (0, 9, "0 %"), (1, 999, "< 1 %"), (998, 999, "> 99 %"), (1, 1, "100 %"), (94, 100, "94 %")],
)
def test_a_part_is_none_or_all_only_if_it_is(part, whole, said):
    assert share(part, whole) == said


def test_times_are_utc():
    assert moment(AT) == "2026-03-01 09:30 UTC"
    assert moment(None) == "not known"


def test_values_in_ids_count():
    assert statement(report_of(table_of("store", {"EMAIL": 2}, in_ids={"PHONE": 3}), table_of("runs"))) == (
        "5 sensitive values in 1 of 2 tables"
    )
