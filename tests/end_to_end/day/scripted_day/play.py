"""What a door gives back, and what all doors need."""

from __future__ import annotations

import base64
import io
import wave
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from scripted_day.model import DayModel
from scripted_day.script import Day, Turn


@dataclass(frozen=True, kw_only=True)
class House:
    """What the fixtures of all end-to-end tests know."""

    command: str
    """Path of `discreet`."""
    environment: Mapping[str, str]
    make_project: Callable[[Path], Path]
    wait_until_ready: Callable[..., None]


@dataclass(frozen=True, kw_only=True)
class Played:
    """A day that is over; no process of it runs any more."""

    day: Day
    model: DayModel | None
    """None for the offline model."""
    answers: Mapping[int, str]
    """What was shown for each turn, by its number."""
    output: str
    """What the processes wrote besides."""
    folder: Path
    seconds: float

    @property
    def data_dir(self) -> Path:
        """Folder of the embedded database."""
        return self.folder / ".discreet"


def environment_of(model: DayModel | None) -> dict[str, str]:
    """Return the settings that name the model; the embedding is the local one either way."""
    patient = {"DISCREET_RETRIEVE_TIMEOUT": "20"}  # on a busy machine a search may take long, which is no error
    if model is None:
        return {**patient, "DISCREET_CHAT_MODEL": "offline"}
    return {
        **patient,
        "DISCREET_CHAT_MODEL": "openai:any",
        "OPENAI_API_KEY": "any",
        "OPENAI_BASE_URL": model.base_url,
        "DISCREET_EMBEDDING_MODEL": "local",
    }


def content_of(turn: Turn) -> Any:
    """Return the content of the user's message: text, or a recording with its transcript."""
    if not turn.is_voice:
        return turn.said
    voice = {"type": "audio", "base64": payload_of(turn), "mime_type": "audio/wav"}
    return [{**voice, "language": turn.language, "transcript": turn.said}]


def payload_of(turn: Turn) -> str:
    """Return half a second of noise as base64, another one for each turn."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8_000)
        sound.writeframes(Random(turn.number).randbytes(8_000))
    return base64.b64encode(file.getvalue()).decode()
