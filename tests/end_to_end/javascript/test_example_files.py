"""What can be seen without Node: the packages of the example, its types, and its page in the docs."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "javascript"
PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "(MIT OR CC0-1.0)", "Python-2.0"}


def test_packages_are_pinned_permissive_and_from_whatever_registry_is_configured():
    package = json.loads((EXAMPLE / "package.json").read_text())
    named = {**package["dependencies"], **package["devDependencies"]}
    assert {version for version in named.values() if not re.fullmatch(r"\d+\.\d+\.\d+", version)} == set()
    lock = json.loads((EXAMPLE / "package-lock.json").read_text())["packages"]
    assert {each["license"] for each in lock.values()} - PERMISSIVE == set()
    assert [name for name, each in lock.items() if "resolved" in each] == []


def test_the_types_have_the_operations_of_the_openapi():
    """`make js` writes them; that nothing else has changed is seen where Node is."""
    document = json.loads((ROOT / "src" / "discreet" / "api" / "openapi.json").read_text())
    names = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
    types = (EXAMPLE / "src" / "discreet.d.ts").read_text()
    assert set(re.findall(r'operations\["(\w+)"\]', types)) == names, "A route has changed: run `make js`"


def test_the_page_shows_the_example_as_it_is():
    page = (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8")
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted((EXAMPLE / "src").glob("*.ts*")))
    blocks = re.findall(r"^```tsx?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    assert [block for block in blocks if block not in source] == []
