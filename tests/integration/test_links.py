"""Links of the pages that are not on the site, whose build (`make docs`) checks those of all others; and pictures."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "AGENTS.md", ROOT / "README.md"]
PICTURES = sorted((ROOT / "docs" / "pictures").iterdir())
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()]*\))?)\)")


def prose(page):
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """Return the anchors that GitHub makes of headings: small letters, no punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ +(.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(re.sub(r"`[^`\n]+`(?!\])", "", prose(page))):
        place = urlsplit(link)
        if place.scheme:
            continue
        target = (page.parent / place.path).resolve() if place.path else page
        assert target.exists(), link
        assert not place.fragment or place.fragment in anchors(target), link


def test_every_picture_is_small_and_shown_with_words_for_who_can_not_see_it():
    shown = {}
    for page in (*PAGES, *ROOT.glob("docs/**/*.md")):
        for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", prose(page)):
            shown[(page.parent / path).resolve()] = words
    assert set(PICTURES) <= set(shown)
    assert all(len(words.split()) > 5 for words in shown.values())
    assert all(picture.stat().st_size <= 150_000 for picture in PICTURES)
