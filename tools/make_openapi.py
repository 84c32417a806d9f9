"""Write `src/discreet/api/openapi.json` anew: `python tools/make_openapi.py`, after a change of a route. A test compares them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.api.process_app import make_process_app, prepare_process

TARGET = Path(__file__).resolve().parents[1] / "src" / "discreet" / "api" / "openapi.json"


def made() -> str:
    """Return the document of the application as it is now."""
    return json.dumps(make_process_app(prepare_process()).openapi(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file."""
    with TemporaryDirectory() as folder:
        os.environ["DISCREET_DATA_DIR"] = folder  # keys are made there
        TARGET.write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
