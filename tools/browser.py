"""Print where Chromium and its driver are, one a line; as root on Debian or Ubuntu install them first if they are missing.

The tests in tests/browser look at the admin page with them. Nothing but the distribution's own packages is installed, and
the driver is never downloaded by Selenium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGES = ("chromium", "chromium-driver", "fonts-dejavu-core", "fonts-wqy-zenhei")
"""The fonts have Cyrillic and Vietnamese letters, and Chinese characters."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"
SECONDS = 600
"""That an installation may take; some 120 MB are downloaded."""


def find() -> tuple[str, str] | None:
    """Return the paths of the browser and of its driver; None if one of them is missing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which(DRIVER)
    return None if browser is None or driver is None else (browser, driver)


def install() -> str | None:
    """Install both; return what went wrong, None if nothing did."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return "only root can install it, on Debian or Ubuntu"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = ([apt, "update", "-qq"], [apt, "install", "-y", "-qq", "--no-install-recommends", *PACKAGES])
    for command in commands:
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{' '.join(command)} took more than {SECONDS} seconds"
        if done.returncode != 0:
            return f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-300:]}"
    return None


def main() -> int:
    """Print the two paths, or what to do."""
    trouble = None if find() else install()
    found = find()
    if found is None:
        print(
            "Chromium and its driver are needed, and are not here:", trouble or "they are not on PATH", file=sys.stderr
        )
        print(f"Install them: apt-get install {' '.join(PACKAGES)}", file=sys.stderr)
        return 1
    print("\n".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
