"""The people, in a process of their own: `python -m loading.generator < what to do > what became of it`, both JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from typing import Any

from loading.crowd import Pace, come
from loading.talks import RestTalk, Talk, TurnTalk
from loading.tally import Tally


async def generate(asked: dict[str, Any]) -> Tally:
    """Let the people come."""
    kind = {"rest": RestTalk, "turns": TurnTalk}[asked["kind"]]
    tally = Tally()
    talk: Talk = kind(asked["urls"], asked["tokens"], tally)
    try:
        return await come(
            Pace(**{**asked["pace"], "wait_seconds": tuple(asked["pace"]["wait_seconds"])}), talk.say, tally
        )
    finally:
        await talk.close()


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Request failed, attempting reconnect")
    json.dump(asyncio.run(generate(json.load(sys.stdin))).as_dict(), sys.stdout)
