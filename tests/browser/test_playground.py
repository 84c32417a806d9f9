"""Somebody tries the playground out, in a real browser."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from testkit import axe, looking

pytestmark = pytest.mark.slow


class Visitor:
    """Uses the page as people do, and looks at it after each step."""

    def __init__(self, page, address, pictures):
        self.page, self.pictures, self.seen = page, pictures, 0
        page.get(address)
        self.look()

    def look(self):
        self.seen += 1
        looking.keep_picture(self.page, self.pictures / f"{self.seen:02}.png")
        assert looking.problems(self.page) == []
        assert axe.violations(self.page) == []

    def wait(self, condition):
        WebDriverWait(self.page, 60).until(condition)

    def example(self, number):
        """Take an example of the list, and wait for the answer."""
        button = self.page.find_elements(By.CSS_SELECTOR, "button.example")[number - 1]
        said = self.page.execute_script("return arguments[0].form.elements.text.value", button)
        button.click()
        self.answered(said)

    def answered(self, said):
        """Wait until this was said last, and both sides of the round are on the disk."""
        self.wait(
            lambda page: page.execute_script(
                "return document.querySelector('.exchange:last-child .mine .text')?.innerText === arguments[0]"
                " && !document.querySelector('[data-running]')"
                " && document.querySelectorAll('.exchange:last-child .disk').length === 2",
                said,
            )
        )
        self.look()

    def part(self, name):
        return self.text_of(f"section.{name}")

    def text_of(self, selector):
        """Return the words of a part, which the page may replace meanwhile."""
        return self.page.execute_script("return document.querySelector(arguments[0]).innerText", selector)

    def press(self, name, value):
        self.page.find_element(By.CSS_SELECTOR, f"button[name={name}][value={value}]").click()
        self.wait(lambda page: page.find_element(By.CSS_SELECTOR, f"[value={value}][aria-current]"))


@pytest.fixture(params=["1280", "1280 dark", "375", "375 dark"])
def visitor(request, page, playground, tmp_path):
    width, _, dark = request.param.partition(" ")
    looking.set_width(page, int(width))
    looking.set_dark(page, dark=bool(dark))
    yield Visitor(page, playground, tmp_path)
    page.get("about:blank")  # before the server ends, which an open page would ask again


def test_the_story_from_the_first_word_to_forgetting(visitor):
    visitor.example(1)
    assert "ann@example.com" in visitor.part("talk")
    assert "ann@example.com" not in visitor.part("stored")
    assert "<EMAIL>" in visitor.part("stored")
    visitor.example(2)
    visitor.example(3)
    assert "WAREHOUSE-" in visitor.part("unstored")
    visitor.example(4)
    assert "African Grey" in visitor.part("talk")
    visitor.example(5)
    assert "African Grey" not in visitor.text_of("#table-memory")


def test_a_message_is_typed_and_sent_by_the_keyboard_and_what_is_open_stays_open(visitor):
    visitor.example(1)
    visitor.page.find_element(By.CSS_SELECTOR, "#others > summary").click()
    field = visitor.page.find_element(By.NAME, "text")
    field.send_keys("Thanks!", Keys.ENTER)
    visitor.answered("Thanks!")
    assert field.get_attribute("value") == ""
    assert visitor.page.execute_script("return document.getElementById('others').open")
    assert "decided by thanks" in visitor.part("unstored")


@pytest.mark.parametrize(("person", "language"), [("binh", "vi"), ("vera", "ru"), ("chen", "zh")])
def test_in_other_languages(visitor, person, language):
    visitor.press("person", person)
    visitor.press("language", language)
    visitor.example(1)
    visitor.example(4)
    assert "Stored" not in visitor.part("stored")
    assert visitor.page.find_element(By.TAG_NAME, "html").get_attribute("lang") == language
    assert visitor.text_of(".found > li .text")


def test_a_second_tab_and_a_reload_show_the_same(visitor, playground):
    visitor.example(1)
    visitor.page.refresh()
    visitor.look()
    assert "ann@example.com" in visitor.part("talk")
    first = visitor.page.current_window_handle
    visitor.page.switch_to.new_window("tab")
    visitor.page.get(playground)
    assert "ann@example.com" in visitor.part("talk")
    visitor.page.close()
    visitor.page.switch_to.window(first)
