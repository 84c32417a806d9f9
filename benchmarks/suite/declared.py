"""Which benchmarks `make bench` runs, and which of their figures a reader decides by."""

from __future__ import annotations

from dataclasses import dataclass

from suite.readers import engines, extraction
from suite.running import Benchmark

SAVER = "PostgresSaver"

BENCHMARKS = (  # seconds are several times what each takes on a quiet machine of two cores
    Benchmark("planted.py", "values on the disk after conversations, beside PostgresSaver and PIIMiddleware", 600),
    Benchmark(
        "redaction.py",
        "what redaction leaks, masks without need and costs, beside Presidio, PIIMiddleware and Kingfisher",
        *(600, ("--repository", "--only", "peers", "speed", "names")),
        quick=("--repository", "--quick", "--only", "peers", "speed"),
        read=engines,
    ),
    Benchmark("recall.py", "what is found and how fast, with one embedding, beside four memory layers", 900),
    Benchmark(
        "retrieval_speed.py",
        "database work of searches and writes at size, beside langmem, mem0 and AsyncPostgresStore",
        *(900, ("--users", "30", "--dims", "512", "--repetitions", "7")),
        quick=("--quick", "--users", "10", "--dims", "512", "--repetitions", "1"),
        stock="the least that PostgreSQL takes",
    ),
    Benchmark(
        *("checkpoint.py", "disk, WAL and time of the checkpointer", 1_200, ("--only", "tools", "long", "clients")),
        quick=("--quick", "--only", "tools"),
        stock=SAVER,
    ),
    Benchmark("turn.py", "a whole turn beside LangChain's agent over PostgresSaver", 1_800, stock="stock agent"),
    Benchmark(
        *("start.py", "starts and imports beside a bare server", 480, ("--runs", "7")),
        quick=("--runs", "1"),
        stock="langgraph dev, bare",
    ),
    Benchmark(
        *("imports.py", "imports of single parts beside those of LangGraph itself", 480, ("--runs", "7")),
        quick=("--runs", "1"),
        stock="langgraph.graph",
    ),
    Benchmark(
        "extraction.py",
        "facts from conversations in the background, by rules without a model",
        300,
        quick=(),
        read=extraction,
    ),
)


@dataclass(frozen=True)
class Claim:
    """Figures of the short list."""

    title: str
    benchmark: str
    what: str
    group: str = ""
    """How the group of the figures begins, a regular expression: sizes differ in a quick run."""
    decides: bool = False
    """Whether README has it too."""


CLAIMS = (
    Claim("Disk: a conversation with a tool result of 20 kB in each turn", "checkpoint", "disk", r"\d+ turns, each with", decides=True),
    Claim("Disk: a long thread of short messages", "checkpoint", "disk", "A thread of", decides=True),
    Claim("Saving a turn with a tool result of 20 kB", "checkpoint", "put and put_writes a turn, wall", r"\d+ turns, each with a tool result of 20 kB$"),
    Claim("Checkpoints of 16 clients", "checkpoint", "checkpoints", "16 clients"),
    Claim("A turn with memory and 20 kB of tool result, the model apart", "turn", "a turn: saver + memory", r"20 kB.*21.*local", decides=True),
    Claim("CPU of such a turn in the application", "turn", "CPU of a turn: saver + memory", r"20 kB.*21.*local", decides=True),
    Claim("CPU of a short turn with memory", "turn", "CPU of a turn: saver + memory", r"short.*local", decides=True),
    Claim("First turn of a process, with memory", "turn", "first turn: saver + memory", r"A new process.*local"),
    Claim("Memory of a process with such an agent", "turn", "memory, after the last: saver + memory", r"A new process.*local", decides=True),
    Claim("Values that users told, on the disk", "planted", "said by the user, on the disk", decides=True),
    Claim("Values that tools returned, on the disk", "planted", "returned by a tool, on the disk", decides=True),
    Claim("Told passwords and codes that leak (en vi ru zh, held out)", "redaction", "told secrets, en vi ru zh: leaked", decides=True),
    Claim("API keys and tokens that leak", "redaction", "SECRET leaked", "Side by side", decides=True),
    Claim("Ordinary texts masked (held out)", "redaction", "ordinary rows masked", "Side by side, held-out", decides=True),
    Claim("Redacting 300 characters of chat", "redaction", "chat, median", "Time for", decides=True),
    Claim("Answers among the first five, one embedding for all", "recall", "all", "answers among", decides=True),
    Claim("Of these, asked in other words than the fact's", "recall", "in other words", "answers among", decides=True),
    Claim("Of these, asked in few words", "recall", "in few words", "answers among"),
    Claim("A search, 206 memories of each person", "recall", "of a search, median"),
    Claim("A search, 1,000 memories of each person, 512 dims", "retrieval_speed", "p50", "Top 5", decides=True),
    Claim("CPU of such a search, client and server", "retrieval_speed", "mean", "Processor time"),
    Claim("Storing 100 memories at once, redacted", "retrieval_speed", "batches of 100, ours with redaction", "Writing", decides=True),
    Claim("Room of a memory, indexes included", "retrieval_speed", "a memory", "Room"),
    Claim("Start of the server until it answers", "start", "time", "to /ok"),
    Claim("Importing a node", "imports", "node assistant", "seconds", decides=True),
    Claim("Importing the checkpointer", "imports", "RedactingSaver", "seconds"),
    Claim("Background extraction without a model, precision (en)", "extraction", "precision", "held-out turns, en"),
    Claim("Background extraction without a model, recall (en)", "extraction", "recall", "held-out turns, en"),
)  # fmt: skip
"""In the order of the table."""
