"""Voice and images: the model hears and sees them in the running turn; a summary and metadata are all that is stored."""

from __future__ import annotations

import asyncio
import base64
import io
import wave
from typing import Any

from langchain_core.messages import HumanMessage

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.state.context import Context
from discreet.storage import open_storage


def recording(seconds: float) -> str:
    """Return a silent recording as base64."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8_000)
        sound.writeframes(bytes(2 * int(8_000 * seconds)))
    return base64.b64encode(file.getvalue()).decode()


async def main() -> str:
    """Send a recording with its transcript, as a speech recogniser returned it."""
    voice = {
        "type": "audio",
        "base64": recording(1.5),
        "mime_type": "audio/wav",
        "language": "en",
        "transcript": "Well, hello. I went to see the doctor. She gave me new drops for my eyes. I take them at night. "
        "They burn a little. I think I will get used to it.",
    }
    async with open_storage() as storage:
        saver = RedactingSaver.from_storage(storage)
        await saver.setup()
        graph = build_graph(storage, chat_model="offline").compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "media"}}
        await graph.ainvoke({"messages": [HumanMessage([voice])]}, config, context=Context(user_id="ann"))
        state = await graph.aget_state(config)  # from the database: the turn is over
        stored = str(state.values["messages"][0].text)
        print(f"stored: {stored}")
        return stored


if __name__ == "__main__":
    asyncio.run(main())
