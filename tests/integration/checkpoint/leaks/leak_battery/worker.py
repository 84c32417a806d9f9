"""A process that is killed while its turns wait in the hearts of their graphs: `python worker.py DSN SEED FACE EVERY`."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit.planter import Planter

from leak_battery.drive import all_held, play_all
from leak_battery.killed import killed_scenes
from leak_battery.savers import make_saver, open_pool
from leak_battery.scenes import FAMILIES
from leak_battery.stories import Face


async def main(dsn: str, seed: int, face: Face, every: int) -> None:
    """Play all scenes up to their hearts, and say so."""
    scenes = killed_scenes(Planter(seed, FAMILIES), face, every)
    threading.Thread(target=lambda: print("held" if all_held(scenes) else "stuck", flush=True), daemon=True).start()
    async with open_pool(dsn, face) as pool:
        wrong = await play_all(scenes, await make_saver(pool), at_once=len(scenes))
    print(wrong, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), "sync" if sys.argv[3] == "sync" else "async", int(sys.argv[4])))
