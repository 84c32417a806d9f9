"""The example under Node and in a browser, against `discreet dev`."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from testkit.axe import violations
from testkit.looking import set_dark, set_width

pytestmark = pytest.mark.slow

TYPES = "src/discreet.d.ts"
SECONDS = 60
GROWING = """
window.lengths = new Set();
new MutationObserver(() => {
  const last = [...document.querySelectorAll('.turn.ai p')].at(-1);
  if (last) window.lengths.add(last.innerText.length);
}).observe(document.body, { subtree: true, childList: true, characterData: true });
"""


def test_the_types_are_what_the_generator_makes(npm):
    committed = (npm.folder / TYPES).read_text()
    npm("run", "generate")
    assert (npm.folder / TYPES).read_text() == committed, "A route has changed: run `make js`"


def test_clients_and_hooks_hold_conversations_under_node(npm, dev_server, user):
    said = npm("test", DISCREET_URL=dev_server.url, DISCREET_TOKEN=_token(dev_server, user))
    assert "# fail 0" in said
    assert "# pass 0" not in said


class Chat:
    """The page as somebody uses it."""

    def __init__(self, page, site):
        self.page = page
        page.get(site)

    def find(self, selector):
        return self.page.find_elements(By.CSS_SELECTOR, selector)

    def until(self, is_so):
        WebDriverWait(self.page, SECONDS).until(lambda _: is_so())

    def sign_in(self, token):
        self.until(lambda: self.find("#token"))
        self.find("#token")[0].send_keys(token, Keys.ENTER)
        self.until(lambda: self.find("#say"))

    def say(self, text):
        answers = len(self.find(".turn.ai"))
        self.find("#say")[0].send_keys(text, Keys.ENTER)
        self.until(lambda: len(self.find(".turn.ai")) == answers + 1 and self.find(".say button[type=submit]"))
        return self.find(".turn.ai p")[-1].text

    def said(self):
        return [each.text for each in self.find(".turn.human p")]

    def memories(self):
        return [each.text for each in self.find(".memories li > p")]


@pytest.fixture
def user(token):
    """A user nobody else is."""
    return f"user-{token}"


@pytest.fixture
def chat(page, site):
    set_width(page, 1280)
    yield Chat(page, site)
    page.execute_script("sessionStorage.clear()")


def _token(server, user):
    return server.headers(user)["authorization"].removeprefix("Bearer ")


def test_a_page_of_another_origin_streams_answers_shows_memories_and_forgets_them(chat, dev_server, user):
    chat.sign_in(_token(dev_server, user))
    chat.page.execute_script(GROWING)
    chat.say("I keep two African Grey parrots.")
    assert len(chat.page.execute_script("return [...window.lengths]")) > 5
    chat.until(lambda: chat.memories() == ["I keep two African Grey parrots."])
    chat.say("Write to ann@example.com, please.")
    assert chat.said()[-1] == "Write to ann@example.com, please."

    chat.page.refresh()
    chat.until(lambda: len(chat.said()) == 2)
    assert chat.said()[-1].startswith("Write to <EMAIL:")

    chat.find("header button")[0].click()
    chat.until(lambda: not chat.said())
    assert "African Grey parrots" in chat.say("Which birds do I have?")
    chat.find("#find")[0].send_keys("flying pets")
    chat.until(lambda: chat.memories() == ["I keep two African Grey parrots."])
    chat.find(".memories li button")[0].click()
    chat.until(lambda: chat.memories() == [])


def test_a_page_tells_why_it_was_refused(chat):
    chat.sign_in("none")
    chat.find("#say")[0].send_keys("Hello!", Keys.ENTER)
    chat.until(lambda: len(chat.find("[role=alert]")) == 2)
    for alert in chat.find("[role=alert]"):
        assert "token" in alert.text
        assert "{" not in alert.text
    assert all("401" in each["message"] for each in chat.page.get_log("browser"))  # the SDK tells the console too


def test_everybody_can_use_the_page_narrow_and_dark(chat, dev_server, user):
    chat.sign_in(_token(dev_server, user))
    chat.say("I keep two African Grey parrots.")
    chat.until(chat.memories)
    for width in (1280, 375):
        set_width(chat.page, width)
        for dark in (False, True):
            set_dark(chat.page, dark=dark)
            assert violations(chat.page) == []
            assert chat.page.execute_script("return document.documentElement.scrollWidth") <= width
