"""What a skipped turn saves."""

from __future__ import annotations

from langchain_core.messages import SystemMessage
from langchain_core.messages.utils import count_tokens_approximately

from discreet.prompts.assembly import assemble
from discreet.state.conversation import RetrievedMemory

FACTS = (
    (
        "user_fact",
        "Lives in Hue with her husband and two children, Minh (8) and An (5), and works as a school teacher.",
    ),
    ("preference", "Prefers short answers in Vietnamese and wants to be called by her first name."),
    ("event", "Had knee surgery in March and goes to physiotherapy on Tuesdays and Fridays in the morning."),
    ("user_fact", "Takes 5 mg of amlodipine every evening against high blood pressure and is allergic to penicillin."),
    (
        "conversation_insight",
        "Plans a trip to Da Nang with the family in August and looks for a hotel close to the beach.",
    ),
)


def tokens_saved() -> int:
    """Return how many tokens five typical facts add to the system prompt, as LangChain counts approximately."""
    memories = [
        RetrievedMemory(entry_id=str(i), text=text, type=kind, created_at="2026-03-05T10:00:00+00:00", relevance=0.8)
        for i, (kind, text) in enumerate(FACTS)
    ]
    return _tokens(_system(memories)) - _tokens(_system([]))


def _system(memories: list[RetrievedMemory]) -> str:
    return assemble(count=len, running=[], memories=memories, window=100_000).system


def _tokens(prompt: str) -> int:
    return count_tokens_approximately([SystemMessage(prompt)])
