"""All routes."""

from __future__ import annotations

from leak_suite.scenes import attacks, events, requests, runs, standing, streams, threads
from leak_suite.visit import Scene

SCENES: dict[str, Scene] = {
    **attacks.SCENES,
    **standing.SCENES,
    **requests.SCENES,
    **streams.SCENES,
    **runs.SCENES,
    **events.SCENES,
    **threads.SCENES,
}
"""Those that last longest come first, so that none of them is played alone at the end."""
