"""An administrator hands a user what is kept of them, in a real browser."""

from __future__ import annotations

import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from discreet.rights.exporting import read_export, read_manifest
from discreet.rights.exporting.format import MemoryRow

pytestmark = pytest.mark.slow


def press(page, words):
    page.find_element(By.XPATH, f"//*[self::a or self::button][normalize-space(.)='{words}']").click()


def type_in(page, name, text):
    WebDriverWait(page, 30).until(lambda page: page.find_elements(By.NAME, name))
    page.find_element(By.NAME, name).send_keys(text)


def test_the_link_on_a_users_memories_downloads_all_of_theirs(page, place, tmp_path):
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.get(f"{place.url}/login")
    type_in(page, "credential", place.admin_key)
    press(page, "Sign in")
    WebDriverWait(page, 30).until(lambda page: page.current_url.endswith("/people"))
    page.get(f"{place.url}/people")
    type_in(page, "subject", "ann@example.com")
    press(page, "Find")
    WebDriverWait(page, 30).until(lambda page: "?view=" in page.current_url)
    before = page.current_url
    press(page, "Export everything")
    deadline = time.monotonic() + 30
    while not (found := list(tmp_path.glob("*.ndjson"))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert page.current_url == before
    [file] = found
    manifest = read_manifest(file)
    assert file.name == f"discreet-export-{manifest.user}.ndjson"
    texts = [record.text for record in read_export(file) if isinstance(record, MemoryRow)]
    assert "Ann keeps two African Grey parrots" in texts
    assert "A-very-long-word" in " ".join(texts)


def test_nobody_else_gets_it(page, place):
    page.get(f"{place.url}/people/u_somebody/export")
    WebDriverWait(page, 30).until(lambda page: page.current_url.endswith("/login"))
