"""A page of the server's own origin talks to it with `fetch`; an administrator reads along on the admin page."""

import subprocess

import httpx
import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from testkit import looking

pytestmark = pytest.mark.slow

TALK = """
const [token, texts, done] = arguments;
const headers = {authorization: `Bearer ${token}`, 'content-type': 'application/json'};
const show = (text) => document.body.append(Object.assign(document.createElement('pre'), {textContent: text}));

async function talk(text) {
  const made = await (await fetch('/threads', {method: 'POST', headers, body: '{}'})).json();
  const answer = await fetch(`/threads/${made.thread_id}/runs/stream`, {method: 'POST', headers, body: JSON.stringify(
    {assistant_id: 'agent', input: {messages: [{role: 'user', content: text}]}, stream_mode: ['messages-tuple', 'values']})});
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = [];
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) break;
    const parts = (rest + value.replaceAll('\\r', '')).split('\\n\\n');
    rest = parts.pop();
    for (const part of parts) {
      const lines = part.split('\\n');
      const said = (name) => lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length).trim());
      if (!said('event:').length) continue;
      const event = {event: said('event:')[0], data: JSON.parse(said('data:').join('\\n') || 'null')};
      events.push(event);
      show(event.event + ' ' + JSON.stringify(event.data));
    }
  }
  return {thread: made.thread_id, type: answer.headers.get('content-type'), events};
}

(async () => {
  const said = [];
  for (const text of texts) said.push(await talk(text));
  return said;
})().then(done, (error) => done(String(error)));
"""
"""Says each text in a thread of its own and shows the events that come back."""

FACT = "I keep two African Grey parrots."
QUESTION = "Which birds do I have?"


class Reader:
    """Somebody at the browser who looks at each page."""

    def __init__(self, page, server, pictures):
        self.page, self.server, self.pictures = page, server, pictures

    def talk(self, *texts):
        """Say each text as ann in a thread of its own; return what came back."""
        self.page.get(f"{self.server.url}/ok")
        self.page.set_script_timeout(60)
        said = self.page.execute_async_script(TALK, self.server.tokens["ann"], texts)
        assert isinstance(said, list), said
        looking.keep_picture(self.page, self.pictures / f"talk {texts[-1][:20]}.png")
        return said

    def open(self, path):
        self.page.get(f"{self.server.url}/memory/admin{path}")
        self.look()

    def type(self, name, text):
        field = self.page.find_element(By.NAME, name)
        field.clear()
        field.send_keys(text)

    def press(self, words):
        """Follow the link or press the button of these words."""
        self.page.execute_script("window.leaving = true")
        path = f"//*[self::a or self::button][starts-with(normalize-space(.), '{words}')]"
        self.page.find_element(By.XPATH, path).click()
        # Between two pages the driver has no words for what it meets: it raises its most general error.
        arrived = "return !window.leaving && document.readyState === 'complete'"
        waiting = WebDriverWait(self.page, 30, ignored_exceptions=[WebDriverException])
        waiting.until(lambda page: page.execute_script(arrived))
        self.look()

    def look(self):
        number = len(list(self.pictures.iterdir()))
        looking.keep_picture(self.page, self.pictures / f"{number:02} admin.png")
        assert looking.problems(self.page) == []

    @property
    def words(self):
        return self.page.find_element(By.TAG_NAME, "main").text

    def sign_in(self, token):
        self.open("/login")
        self.type("credential", token)
        self.press("Sign in")


@pytest.fixture(scope="session")
def admin_token(dev_server, discreet_command, clean_environment):
    """What `discreet token` prints for an administrator in the server's folder."""
    printed = subprocess.run(
        [discreet_command, "token", "developer", "--admin"],
        cwd=dev_server.project,
        env=clean_environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return printed.stdout.strip()


@pytest.fixture
def reader(page, dev_server, tmp_path):
    looking.set_width(page, 1280)
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    return Reader(page, dev_server, pictures)


def answer(talk):
    """Return the last message of the last state that was streamed."""
    states = [event["data"] for event in talk["events"] if event["event"] == "values"]
    return states[-1]["messages"][-1]["content"]


def test_a_page_tells_a_fact_in_one_thread_and_is_answered_in_another(reader):
    told, asked = reader.talk(FACT, QUESTION)
    assert told["thread"] != asked["thread"]
    for talk in (told, asked):
        assert talk["type"].startswith("text/event-stream")
        kinds = [event["event"] for event in talk["events"]]
        assert kinds[0] == "metadata"
        assert kinds.count("messages") > 1
        assert "error" not in kinds
    assert "African Grey parrots" in answer(asked)
    assert "African Grey parrots" in reader.page.find_element(By.TAG_NAME, "body").text


def test_a_setting_changed_on_the_admin_page_holds_on_the_server(reader, dev_server, admin_token):
    reader.sign_in(admin_token)
    reader.open("/settings")
    reader.type("set.memory_retrieve_limit", "7")
    reader.press("Save the settings")
    assert "The settings are saved." in reader.words
    headers = {"authorization": f"Bearer {admin_token}"}
    settings = httpx.get(f"{dev_server.url}/memory/settings", headers=headers).raise_for_status().json()
    assert settings["values"]["memory_retrieve_limit"] == 7
    assert "memory_retrieve_limit" in settings["overridden"]
    refused = httpx.get(f"{dev_server.url}/memory/settings", headers=dev_server.headers("ann"))
    assert refused.status_code == 403


def test_a_memory_told_in_the_chat_and_edited_on_the_admin_page_is_answered_as_edited(reader, admin_token):
    reader.talk("My bicycle is a green Brompton.")
    reader.sign_in(admin_token)
    reader.press("People")
    reader.type("subject", "ann")
    reader.press("Find")
    reader.press("Memories")
    assert "green Brompton" in reader.words
    reader.press("My bicycle is a green Brompton")
    reader.press("Edit")
    reader.type("text", "My bicycle is a yellow Moulton.")
    reader.press("Save the memory")
    assert "The memory is saved." in reader.words
    (asked,) = reader.talk("Which bicycle do I have?")
    assert "yellow Moulton" in answer(asked)
    assert "Brompton" not in answer(asked)
