"""Every page of the administrator and of one's own memories: on a desk and on a phone, light and dark, as axe-core and WCAG have it."""

from __future__ import annotations

import json
import re

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from testkit import axe, looking

pytestmark = pytest.mark.slow


class Visitor:
    """Opens pages, and looks at each."""

    def __init__(self, page, pictures):
        self.page, self.pictures = page, pictures
        self.problems = {}

    def look(self, name):
        looking.keep_picture(self.page, self.pictures / f"{name.replace('/', '_')}.png")
        found = looking.problems(self.page) + axe.violations(self.page)
        if found:
            self.problems[name] = found

    def go(self, address, name):
        self.page.get(address)
        self.look(name)

    def sign_in(self, url, key, home):
        self.go(f"{url}/login", f"{home}_login")
        self.page.find_element(By.NAME, "credential").send_keys(key)
        self.press("main button")
        WebDriverWait(self.page, 30).until(lambda page: page.current_url.endswith(home))

    def press(self, selector):
        self.page.find_element(By.CSS_SELECTOR, selector).click()

    def link(self, pattern):
        """Return where the first link goes whose address has `pattern`."""
        hrefs = [each.get_attribute("href") for each in self.page.find_elements(By.CSS_SELECTOR, "main a")]
        return next(href for href in hrefs if re.search(pattern, href))


@pytest.fixture(params=["1280", "1280 dark", "375", "375 dark"])
def visitor(request, page, tmp_path):
    width, _, dark = request.param.partition(" ")
    looking.set_width(page, int(width))
    looking.set_dark(page, dark=bool(dark))
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    return Visitor(page, pictures)


def test_every_page_of_the_administrator(visitor, place):
    url = place.url
    visitor.sign_in(url, place.admin_key, "/people")
    for path in (
        "people",
        "people?list=quiet",
        "conflicts",
        "review",
        "jobs",
        "settings",
        "history",
        "moments",
        "people/nobody/memories/none",
    ):
        visitor.go(f"{url}/{path}", path)
    visitor.page.get(f"{url}/review")
    visitor.go(visitor.link("/edit"), "review_edit")
    visitor.page.get(f"{url}/people")
    person = visitor.link(r"/people/[0-9a-f-]{36}")
    for path in ("", "/memories", "/recall", "/conflicts", "/name"):
        visitor.go(person + path, f"person{path}")
    visitor.page.get(person)
    visitor.go(visitor.link("/receipts/"), "receipt")
    visitor.page.get(f"{person}/memories")
    one = visitor.link("/memories/[0-9a-f-]{36}").partition("?")[0]
    for path in ("", "/edit", "/delete"):
        visitor.go(one + path, f"memory{path}")
    visitor.page.get(f"{url}/people")
    visitor.page.find_element(By.NAME, "subject").send_keys("ann@example.com")
    visitor.press("main button")
    WebDriverWait(visitor.page, 30).until(lambda page: "?view=" in page.current_url)
    visitor.go(visitor.link("/erase"), "erase")
    visitor.press("main form button")
    visitor.look("erase_counts")
    assert not visitor.problems, json.dumps(visitor.problems, indent=1)


@pytest.mark.parametrize("language", ["en", "vi", "ru", "zh"])
def test_every_page_of_ones_own_memories(visitor, place, language):
    visitor.page.execute_cdp_cmd("Network.enable", {})
    visitor.page.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {"Accept-Language": language}})
    url = place.my_url
    visitor.sign_in(url, place.other_key, "/memories")
    for path in ("memories", "forget", "take-away", "receipts/none"):
        visitor.go(f"{url}/{path}", path)
    assert visitor.page.find_element(By.TAG_NAME, "html").get_attribute("lang") == language
    visitor.page.get(f"{url}/memories")
    one = visitor.link("/correct")
    visitor.go(one, "correct")
    visitor.page.find_element(By.NAME, "text").clear()
    visitor.press("main form button")
    visitor.look("correct_refused")
    visitor.go(one.replace("/correct", "/forget"), "forget_one")
    visitor.page.get(f"{url}/forget")
    visitor.page.find_elements(By.CSS_SELECTOR, "main form button")[-1].click()
    visitor.look("forget_all")
    visitor.press("main button.danger")
    WebDriverWait(visitor.page, 30).until(lambda page: "/receipts/" in page.current_url)
    visitor.look("receipt")
    visitor.go(f"{url}/memories", "nothing")
    visitor.page.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {}})
    assert not visitor.problems, json.dumps(visitor.problems, indent=1)
