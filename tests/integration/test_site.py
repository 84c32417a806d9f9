"""The documentation site: it is built without a warning, which is said of every link and anchor too, and needs no network."""

import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.support.ui import WebDriverWait
from testkit.axe import violations

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [Path(sys.executable).parent / "sphinx-build", "--fail-on-warning", "--keep-going", "--quiet"]
    built = subprocess.run(
        [*command, "-d", folder / "trees", "-c", "docs", ".", folder / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / "site"


class Loaded(HTMLParser):
    """Notes what a browser loads by itself for a page."""

    def __init__(self, text):
        super().__init__()
        self.addresses = re.findall(r"url\(['\"]?([^'\")]+)", text)
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        if tag in LOADED and said.get(LOADED[tag]) and said.get("rel") not in ("next", "prev", "canonical", "search"):
            self.addresses.append(said[LOADED[tag]])


def test_no_page_loads_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        addresses = Loaded(page.read_text(encoding="utf-8")).addresses
        assert [each for each in addresses if re.match(r"(?:\w+:)?//", each)] == [], page
    for sheet in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:\w+:)?//", text), sheet


@pytest.fixture(scope="module")
def address(site):
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    """Says nothing of each request."""

    def log_message(self, *_of):
        pass


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everybody_can_read_its_pages(page, address, width, dark):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    for name in ("index", "tutorial/1_see_it", "how_to/human_approval", "reference/cli", "reference/rest"):
        page.get(f"{address}/docs/{name}.html")
        assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), name
        assert violations(page) == [], name


def test_its_first_page_and_its_search_work_offline(page, address):
    page.get(address)
    WebDriverWait(page, 20).until(lambda page: page.current_url == f"{address}/docs/index.html")
    page.get(f"{address}/search.html?q=pgbouncer")
    WebDriverWait(page, 20).until(lambda page: "Behind PgBouncer" in page.find_element("id", "search-results").text)
