"""Make the pictures of the documentation anew: `make pictures`.

Pictures of a terminal are what a command printed (SVG), pictures of pages what Chromium shows of a server that runs here (PNG). All of it happens in a
scratch folder with an embedded database, and nothing is loaded from elsewhere. One more picture is one more line of TERMINALS or SCREENS.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

import browser
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from PIL import Image  # matplotlib brings it
from rich.console import Console
from rich.text import Text
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from discreet.access.authenticator import Authenticator
from discreet.access.development import token_for
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.embedded import lease_server

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
COMMAND = Path(sys.executable).parent / "discreet"
COLUMNS, WIDTH, HEIGHT, COLOURS = 104, 1280, 860, 64
MAX_BYTES = 150_000
SECONDS = 60
SUBJECT = "ann@example.com"
MEMORIES = [
    MemoryRecord(text="Keeps two African Grey parrots", type="preference", importance=7, tags=["pets"]),
    MemoryRecord(text="Is allergic to peanuts", importance=9, tags=["health"]),
    MemoryRecord(text="Lives in Hanoi and works as a nurse", importance=6),
    MemoryRecord(text="Is learning to play the cello", type="event", importance=4),
]


@dataclass(frozen=True)
class Screen:
    """A page of a server; what is written into its first field and pressed (CSS selectors) before the picture is taken."""

    name: str
    server: str
    path: str
    write: str = ""
    press: tuple[str, ...] = ()
    ready: str = "main"


TERMINALS = {
    "demo": ("demo",),
    "scan": ("scan",),
    "doctor": ("doctor",),
}
"""Arguments of `discreet`, by the name of the picture."""
SCREENS = [
    Screen("playground", "demo", "/memory/playground", press=(".example",), ready="#said:not(:has(.dots)) .theirs"),
    Screen("admin", "serve", "/memory/admin", write=SUBJECT, press=("main form button",)),
    Screen("my_memories", "serve", "/memory/me"),
]


def picture_of_terminal(arguments: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Run a command and return what it printed as an SVG, which names no font of another host."""
    done = subprocess.run([COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)
    console = Console(record=True, width=COLUMNS, file=StringIO())
    console.print(Text.from_ansi(re.sub(r"postgresql:///\S+:", "postgresql://localhost:", done.stdout).rstrip()))
    line = " ".join(("discreet", *arguments))
    usual = inspect.signature(console.export_svg).parameters["code_format"].default
    layout = re.sub(r"@font-face \{\{.*?\}\}", "", usual, flags=re.DOTALL)
    return console.export_svg(title=f"$ {line}", code_format=layout, unique_id=f"terminal-{arguments[0]}")


@contextmanager
def serving(arguments: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[str]:
    """Run a server on this machine while the block lasts; yield its address."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    command = [COMMAND, *arguments, "--port", port]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(url)
            yield url
        finally:
            server.terminate()


def _wait_for(url: str) -> None:
    ends = time.monotonic() + SECONDS
    while True:
        try:
            with urlopen(f"{url}/", timeout=5):  # noqa: S310  # an address of this machine
                return
        except URLError as error:
            if hasattr(error, "code"):
                return  # it answers
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)


def take(page: Chrome, url: str, screen: Screen, token: str) -> bytes:
    """Open a page, sign in where it asks, and return what is seen as a PNG."""
    page.get(url + screen.path)
    for field in page.find_elements("id", "credential"):
        field.send_keys(token)
        page.find_element("css selector", "main form button").click()
    if screen.write:
        page.find_element("css selector", "main input:not([type=hidden])").send_keys(screen.write)
    for selector in screen.press:
        page.find_element("css selector", selector).click()
    WebDriverWait(page, SECONDS).until(lambda page: page.find_elements("css selector", screen.ready))
    taken = BytesIO(base64.b64decode(page.execute_cdp_cmd("Page.captureScreenshot", {})["data"]))
    small = BytesIO()
    Image.open(taken).convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
    return small.getvalue()


@contextmanager
def chromium() -> Iterator[Chrome]:
    """Yield a browser without a window, as wide as a laptop's."""
    found = browser.find()
    if found is None:
        sys.exit("Chromium is needed: python tools/browser.py says how to install it.")
    options = ChromeOptions()
    options.binary_location = found[0]
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    page = Chrome(options, Service(found[1]))
    screen = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        yield page
    finally:
        page.quit()


def fill(folder: Path) -> None:
    """Have a graph of somebody's, with LangGraph's own saver, write into the database in `folder`."""
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda _: {"messages": [("ai", "I have noted it.")]})
    graph.add_edge(START, "answer")
    with lease_server(folder) as dsn, PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
        compiled = graph.compile(checkpointer=saver)
        for number in range(12):
            said = f"Write to ann.{number}@example.com or call +1 212 555 01{number:02}, card 4111 1111 1111 1111"
            compiled.invoke({"messages": [("user", said)]}, {"configurable": {"thread_id": str(number % 3)}})


async def remember(settings: Settings) -> None:
    """Store what the pages show of SUBJECT."""
    async with open_storage(settings=settings) as storage:
        await storage.memories.save(Authenticator(settings).identity(SUBJECT), MEMORIES)


def keep(name: str, content: bytes) -> None:
    """Write a picture, if it is as small as a page of documentation wants it."""
    if len(content) > MAX_BYTES:
        sys.exit(f"{name} has {len(content):,} bytes, more than {MAX_BYTES:,}.")
    (PICTURES / name).write_bytes(content)
    print(f"{name}: {len(content):,} bytes")


def main() -> None:
    """Make all of them, or those that are named."""
    wanted = set(sys.argv[1:]) or {*TERMINALS, *(screen.name for screen in SCREENS)}
    own = {name: value for name, value in os.environ.items() if not name.startswith(("DISCREET_", "OPENAI_"))}
    with TemporaryDirectory(prefix="discreet-pictures-") as scratch:
        folder = Path(scratch) / "data"
        secret = secrets.token_hex(32)
        environment = own | {
            "DISCREET_DATA_DIR": str(folder),
            "DISCREET_JWT_SECRET": secret,
            "DISCREET_ADMINS": f'["{SUBJECT}"]',
            "COLUMNS": str(COLUMNS),
            "FORCE_COLOR": "1",
            "TTY_INTERACTIVE": "0",  # Rich draws nothing that moves
        }
        if wanted & TERMINALS.keys():
            fill(folder)
        for name, arguments in TERMINALS.items():
            if name in wanted:
                keep(f"{name}.svg", picture_of_terminal(arguments, environment).encode())
        screens = [screen for screen in SCREENS if screen.name in wanted]
        if not screens:
            return
        settings = Settings(_env_file=None, data_dir=folder, jwt_secret=secret, admins=(SUBJECT,))
        asyncio.run(remember(settings))
        token = token_for(settings, SUBJECT, admin=True)
        with (
            serving(("demo", "--web"), environment) as demo,
            serving(("serve",), environment) as serve,
            chromium() as page,
        ):
            for screen in screens:
                keep(f"{screen.name}.png", take(page, {"demo": demo, "serve": serve}[screen.server], screen, token))


if __name__ == "__main__":
    main()
