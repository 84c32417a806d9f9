"""All routes."""

from __future__ import annotations

from leak_suite.scenes import attacks, events, requests, runs, standing, streams, threads
from leak_suite.visit import Scene

SCENES: dict[str, Scene] = {
    **threads.SCENES,
    **runs.SCENES,
    **streams.SCENES,
    **events.SCENES,
    **standing.SCENES,
    **requests.SCENES,
    **attacks.SCENES,
}
