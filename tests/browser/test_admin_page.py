"""An administrator at work, in a real browser."""

from __future__ import annotations

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from testkit import axe, looking

pytestmark = pytest.mark.slow


class Person:
    """Uses the pages as people do, and looks at each."""

    def __init__(self, page, place, pictures):
        self.page, self.place, self.pictures = page, place, pictures
        self.seen = 0

    def go(self, path):
        self.page.get(self.place.url + path)
        self.look(path)

    def field(self, name):
        return self.page.find_element(By.NAME, name)

    def type(self, name, text):
        self.field(name).clear()
        self.field(name).send_keys(text)

    def press(self, words):
        """Follow the link or press the button of these words, and look at what comes."""
        self._press(f"//main//*[self::a or self::button][starts-with(normalize-space(.), '{words}')]", words)

    def press_in_header(self, words):
        self._press(f"//header//*[self::a or self::button][normalize-space(.)='{words}']", words)

    def _press(self, path, words):
        self.page.execute_script("window.leaving = true")
        self.page.find_element(By.XPATH, path).click()
        # Between two pages the driver has no words for what it meets: it raises its most general error.
        arrived = "return !window.leaving && document.readyState === 'complete'"
        waiting = WebDriverWait(self.page, 30, ignored_exceptions=[WebDriverException])
        waiting.until(lambda page: page.execute_script(arrived))
        self.look(words)

    def look(self, words):
        self.seen += 1
        name = "".join(letter if letter.isalnum() else "_" for letter in words)[:40]
        looking.keep_picture(self.page, self.pictures / f"{self.seen:02}_{name}.png")
        assert looking.problems(self.page) == []
        assert axe.violations(self.page) == []

    @property
    def heading(self):
        return self.page.find_element(By.TAG_NAME, "h1").text

    @property
    def words(self):
        return self.page.find_element(By.TAG_NAME, "main").text

    def sign_in(self, key):
        self.go("/login")
        self.type("credential", key)
        self.press("Sign in")

    def open_person(self):
        self.press_in_header("People")
        self.type("subject", "ann@example.com")
        self.press("Find")

    def open_memories(self):
        self.open_person()
        self.press("Memories")


@pytest.fixture(params=["1280", "375", "360", "375 dark"])
def person(request, page, place, tmp_path):
    width, _, dark = request.param.partition(" ")
    looking.set_width(page, int(width))
    looking.set_dark(page, dark=bool(dark))
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    return Person(page, place, pictures)


@pytest.fixture
def admin(person):
    person.sign_in(person.place.admin_key)
    assert person.heading == "People"
    return person


def test_only_administrators_get_in(person):
    person.go("/settings")
    assert person.heading == "Sign in"
    person.type("credential", "not a key")
    person.press("Sign in")
    assert "not known here" in person.page.find_element(By.CSS_SELECTOR, "[role=alert]").text
    person.type("credential", person.place.other_key)
    person.press("Sign in")
    assert person.heading == "You are no administrator"
    person.sign_in(person.place.admin_key)
    assert person.heading == "People"
    person.press_in_header("Sign out")
    person.go("/settings")
    assert person.heading == "Sign in"


def test_a_setting_is_refused_then_saved_then_given_back(admin):
    admin.press_in_header("Settings")
    admin.type("set.memory_retrieve_limit", "900")
    admin.type("set.context_window_size", "8000")
    admin.press("Save the settings")
    assert "Nothing was saved." in admin.page.find_element(By.CSS_SELECTOR, "[role=alert]").text
    field = admin.field("set.memory_retrieve_limit")
    assert field.get_attribute("aria-invalid") == "true"
    described = field.get_attribute("aria-describedby").split()[-1]
    assert "A whole number from 1 to 50." in admin.page.find_element(By.ID, described).text
    assert field.get_attribute("value") == "900"
    assert admin.field("set.context_window_size").get_attribute("value") == "8000"

    admin.type("set.memory_retrieve_limit", "7")
    Select(admin.field("set.memory_extraction_provider")).select_by_visible_text("anthropic")
    admin.press("Save the settings")
    assert "The settings are saved." in admin.words
    assert admin.field("set.memory_retrieve_limit").get_attribute("value") == "7"

    admin.press_in_header("History")
    changes = [item.text for item in admin.page.find_elements(By.CSS_SELECTOR, "ol > li")]
    assert len(changes) == 3
    assert any("Memory retrieve limit" in change and "not set here" in change and "7" in change for change in changes)

    admin.press_in_header("Settings")
    admin.page.find_element(By.XPATH, "//label[contains(., 'Give “Memory retrieve limit” back')]").click()
    admin.press("Save the settings")
    assert admin.field("set.memory_retrieve_limit").get_attribute("value") == "5"


def test_memories_are_found_edited_and_deleted(admin, said):
    admin.open_memories()
    assert "ann@example.com" in admin.words
    assert "ann" not in admin.page.current_url
    assert admin.page.title == "Memories · Discreet"
    for text in ("Chị ấy dị ứng", "Живёт в Москве", "她住在上海", "<script>document.title"):
        assert text in admin.words
    assert "Ann lives in Hanoi" not in admin.words
    admin.press("Older memories")
    assert "Turn number 30" in admin.words
    admin.press("Newest memories")

    admin.type("query", "parrots")
    admin.press("Find")
    assert "African Grey" in admin.words
    assert "Москве" not in admin.words
    admin.press("Ann keeps two")
    assert "8 of 10" in admin.words
    assert "small-model" in admin.words
    admin.press("Edit")
    admin.type("importance", "12")
    admin.press("Save the memory")
    assert "A whole number from 1 to 10." in admin.words
    admin.type("text", "Ann keeps three parrots")
    admin.type("importance", "9")
    admin.press("Save the memory")
    assert "The memory is saved." in admin.words
    assert "Ann keeps three parrots" in admin.words
    assert f"{said:%Y-%m-%d} 09:30 UTC" in admin.words
    admin.press("Delete …")
    admin.press("Delete for good")
    assert "The memory is deleted." in admin.words
    assert "three parrots" not in admin.words

    admin.press("Show all")
    admin.page.execute_script("document.getElementsByName('on')[0].value = arguments[0]", f"{said:%Y-%m-%d}")
    admin.press("Find")
    assert "Ann lives in Hanoi" in admin.words
    assert "superseded" in admin.words
    Select(admin.field("type")).select_by_value("preference")
    admin.page.execute_script("document.getElementsByName('on')[0].value = ''")
    admin.type("tag", "饮食")
    admin.press("Find")
    assert "她住在上海" in admin.words
    assert len(admin.page.find_elements(By.CSS_SELECTOR, "ol > li")) == 1


def test_a_person_is_followed_from_the_list_to_what_contradicts_and_a_receipt(admin):
    links = admin.page.find_elements(By.CSS_SELECTOR, "ol > li a")
    assert len(links) == 1
    admin.press(links[0].text)
    assert admin.heading == "Timeline"
    assert "<EMAIL" in admin.page.find_element(By.CSS_SELECTOR, "mark.mask").text
    admin.press("Erasures")
    admin.press("Receipt")
    admin.press("Erase")
    assert admin.heading == "Who is it?"
    admin.type("subject", "somebody")
    admin.press("Go on")
    assert "That is somebody else" in admin.words
    admin.type("subject", "ann@example.com")
    admin.press("Go on")
    assert admin.heading == "Timeline"
    admin.press("Conflicts")
    assert "Ann is a vegetarian" in admin.words
    admin.press("Keep both")
    assert "Both stay" in admin.words
    admin.press_in_header("Conflicts")
    assert "There is nothing to settle." in admin.words


def test_a_question_shows_what_would_be_recalled_and_why(admin):
    admin.open_memories()
    admin.press("Why is something recalled?")
    admin.press("Explain")
    assert admin.field("question").get_attribute("aria-invalid") == "true"
    admin.type("question", "Which parrots does Ann keep?")
    admin.press("Explain")
    first = admin.page.find_element(By.CSS_SELECTOR, "ol > li").text
    assert "in the prompt, number 1" in first
    assert "It shares the words “parrots”, “Ann” and “keep” with the question." in first
    assert "not near enough" in admin.words
    assert "parrots" not in admin.page.current_url


def test_a_batch_is_looked_at_and_ended(admin):
    admin.press_in_header("Jobs")
    assert admin.page.title == "Jobs · Discreet"
    assert "No worker is alive" in admin.page.find_element(By.CSS_SELECTOR, ".notice.bad").text
    running, dropped, failed, completed = (item.text for item in admin.page.find_elements(By.CSS_SELECTOR, "ol > li"))
    assert "running" in running
    assert "not known" in dropped
    assert "less than 0.01 USD" not in failed
    assert "12 new, 1 in the place of older ones, 7 known before" in completed
    assert "about 0.12 USD" in completed
    admin.page.find_element(By.TAG_NAME, "summary").click()
    admin.look("Where it is")
    admin.press("End this batch")
    assert "The batch is being ended." in admin.page.find_element(By.CSS_SELECTOR, "[role=status]").text
    assert "is being ended" in admin.page.find_element(By.CSS_SELECTOR, "ol > li").text
    admin.press("Try again what failed")
    assert "There was nothing to try again." in admin.words
    admin.press("5 memories")
    assert admin.heading == "Review"


def test_what_waits_is_accepted_edited_and_refused(admin):
    admin.press_in_header("Review")
    assert admin.page.title == "Review · Discreet"
    assert "Review is off" in admin.words
    for text in ("Chị ấy dị ứng", "Живёт в Москве", "她住在上海", "<script>document.title"):
        assert text in admin.words
    admin.press("Refuse")
    assert "The memory is refused." in admin.words
    assert "African Grey" not in admin.words
    admin.press("Edit …")
    assert "Chị ấy dị ứng" in admin.field("text").get_attribute("value")
    admin.type("importance", "12")
    admin.press("Accept as it stands here")
    assert "A whole number from 1 to 10." in admin.words
    admin.type("text", "Chị ấy không ăn được đậu phộng")
    admin.type("importance", "10")
    Select(admin.field("type")).select_by_value("important_moment")
    admin.press("Accept as it stands here")
    assert "The memory is kept." in admin.words
    admin.press("Accept")
    assert "The memory is kept." in admin.words
    assert "Живёт" not in admin.words
    assert len(admin.page.find_elements(By.CSS_SELECTOR, "ol > li")) == 2
    admin.open_memories()
    assert "Chị ấy không ăn được đậu phộng" in admin.words


def test_triggers_of_an_application_are_refused_then_saved(admin):
    admin.press_in_header("Settings")
    admin.type("set.memory_trigger_apps", "the shop, sooner")
    admin.press("Save the settings")
    field = admin.field("set.memory_trigger_apps")
    assert field.get_attribute("aria-invalid") == "true"
    told = admin.page.find_element(By.ID, field.get_attribute("aria-describedby").split()[-1]).text
    assert 'JSON such as {"shop": {"inactivity_minutes": 5' in told
    assert field.get_attribute("value") == "the shop, sooner"
    admin.type("set.memory_trigger_apps", '{"shop": {"inactivity_minutes": 5}}')
    admin.press("Save the settings")
    assert "The settings are saved." in admin.words


def test_the_keyboard_reaches_the_content_and_shows_where_it_is(admin):
    admin.press_in_header("Settings")
    keys = admin.page.switch_to.active_element
    keys.send_keys(Keys.TAB)
    skip = admin.page.switch_to.active_element
    assert skip.text == "Skip to the content"
    assert skip.rect["x"] == 0
    skip.send_keys(Keys.ENTER)
    for _ in range(12):
        admin.page.switch_to.active_element.send_keys(Keys.TAB)
        width = admin.page.execute_script(
            "const style = getComputedStyle(document.activeElement);"
            "return style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)"
        )
        assert width >= 2
    inside = admin.page.execute_script("return document.activeElement.closest('main') !== null")
    assert inside
