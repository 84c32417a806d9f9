"""The page of a scan, in a real browser: on a desk, on a phone, in the dark, on paper."""

from __future__ import annotations

import base64

import pytest
from selenium.webdriver.common.by import By
from testkit import looking
from testkit.scan_reports import REPORTS, SCRIPT, usual

from discreet.scanning.page import render

pytestmark = pytest.mark.slow

REQUESTS = "return performance.getEntriesByType('resource').map(each => each.name)"
DRAWN = r"""
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const light = (colour) => {
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map(part);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const problems = [];
const card = light(getComputedStyle(document.querySelector('.card')).backgroundColor);
for (const each of document.querySelectorAll('svg text, rect:not(.track), circle')) {
  if (!each.getClientRects().length) continue;
  const one = light(getComputedStyle(each).fill);
  const contrast = (Math.max(one, card) + 0.05) / (Math.min(one, card) + 0.05);
  if (contrast < (each.tagName === 'text' ? 4.5 : 3)) problems.push(contrast.toFixed(2) + each.outerHTML);
  const [box, frame] = [each, each.ownerSVGElement].map((element) => element.getBoundingClientRect());
  if (box.left < frame.left - 1 || box.right > frame.right + 1) problems.push('outside ' + each.outerHTML);
}
const texts = [...document.querySelectorAll('.plot text')].map((each) => Object.assign(each.getBoundingClientRect(), { text: each.textContent })).filter((box) => box.width);
texts.forEach((one, index) => texts.slice(index + 1).forEach((other) => {
  if (one.left < other.right && other.left < one.right && one.top + 3 < other.bottom && other.top + 3 < one.bottom)
    problems.push(one.text + ' on ' + other.text);
}));
return problems;
"""
"""Criteria 1.4.3 and 1.4.11 of WCAG 2.2 for what is drawn, and whether it is all in sight."""


@pytest.fixture
def shown(page, tmp_path):
    def shown(report):
        file = tmp_path / "scan.html"
        file.write_text(render(report), encoding="utf-8")
        page.get(file.as_uri())
        looking.keep_picture(page, tmp_path / "scan.png")
        return page

    return shown


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [1280, 768, 390, 320])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everybody_can_read_it(page, shown, name, width, dark):
    looking.set_width(page, width)
    looking.set_dark(page, dark=dark)
    shown(REPORTS[name]())
    assert looking.problems(page) == []
    assert page.execute_script(DRAWN) == []
    assert page.execute_script(REQUESTS) == []


def test_charts_have_names(shown):
    page = shown(usual())
    figures = page.find_elements(By.TAG_NAME, "figure")
    assert [each.accessible_name for each in figures] == [
        "Sensitive values by type",
        "Growth of threads",
        "What pruning would free",
        "What is kept of conversations",
        "Largest threads",
    ]
    drawings = page.find_elements(By.CSS_SELECTOR, "svg:not([aria-hidden])")
    assert len(drawings) == 8
    assert all(each.accessible_name and each.aria_role in {"img", "image"} for each in drawings)


def test_a_table_is_one_on_a_phone_too(page, shown):
    looking.set_width(page, 390)
    shown(usual())
    assert page.find_element(By.TAG_NAME, "table").aria_role == "table"
    assert page.find_element(By.CSS_SELECTOR, "tbody th").aria_role == "rowheader"
    assert page.find_element(By.CSS_SELECTOR, "tbody td").aria_role in {"cell", "gridcell"}


def test_a_foreign_name_runs_no_script(shown):
    page = shown(REPORTS["worst"]())
    assert page.execute_script("return document.scripts.length") == 0
    assert page.find_element(By.CSS_SELECTOR, "h1 bdi").text == SCRIPT


def test_it_is_printed_on_few_sheets_of_a4_and_never_dark(page, shown):
    looking.set_dark(page, dark=True)
    shown(usual())
    printed = page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    sheets = base64.b64decode(printed["data"])
    assert b"/MediaBox [0 0 594.9" in sheets
    assert sheets.count(b"/Type /Page\n") in range(1, 5)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert page.execute_script("return getComputedStyle(document.body).color") == "rgb(27, 36, 48)"
