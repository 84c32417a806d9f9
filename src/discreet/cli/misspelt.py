"""Tell of variables that look like settings and are none."""

from __future__ import annotations

import sys

from discreet.settings import unknown_variables


def tell_unknown_names() -> None:
    """Name them on standard error, with the setting that each may have been meant for."""
    for name, near in unknown_variables().items():
        meant = f" Did you mean {near}?" if near else ""
        print(f"discreet: {name} is no setting, and changes nothing.{meant}", file=sys.stderr)
