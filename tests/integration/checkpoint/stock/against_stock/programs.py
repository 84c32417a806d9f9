"""Random programs: a graph, and what is done with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import strategies as st

Kind = Literal[
    "say",
    "note",
    "ask",
    "hear",
    "write",
    "tool",
    "end",
    "calls",
    "fan",
    "jump",
    "pair",
    "sub",
    "memo",
    "loose",
    "agent",
    "drop",
    "edit",
    "clear",
]
"""What a stage does, see `graphs`."""


@dataclass(frozen=True)
class Stage:
    """One or a few nodes of a graph; stages follow each other."""

    kind: Kind
    count: int = 1
    """How many parallel calls, or rounds of a loop, or messages in the place of a conversation that is cleared."""
    asks: bool = False
    """Whether it asks the user."""
    target: int = 0
    """Where a jump goes."""
    inner: tuple[Stage, ...] = ()
    """Stages of a subgraph."""
    told: bool = False
    """Whether its tool's text may be stored as an answer."""


@dataclass(frozen=True)
class Op:
    """One operation on one thread. Numbers choose among what there is when it is played, so they always mean something."""

    kind: Literal[
        "say",
        "resend",
        "beside",
        "nudge",
        "result",
        "resume",
        "go_on",
        "update",
        "fork",
        "restart",
        "copy",
        "delete",
        "late",
        "prune",
    ]
    thread: int = 0
    durability: Literal["sync", "async", "exit"] = "async"
    face: Literal["sync", "async"] = "async"
    fails: int = -1
    """Which node raises when it first runs, those that are about to run first; negative: none."""
    choice: int = 0
    """Which checkpoint of the history, which node an update is made as, or how many of the questions stay open."""
    answer: object = True
    """What a question is answered with."""
    secret: bool = False
    """Whether the user's text has something to redact."""
    form: Literal["message", "blocks", "role", "dict"] = "message"
    """How the user's message is given."""


@dataclass(frozen=True)
class Program:
    """A graph and the operations."""

    stages: tuple[Stage, ...]
    ops: tuple[Op, ...]
    breakpoint: int = -1
    """Before which node runs stop; negative: before none."""
    foreign_ids: bool = False
    """Whether messages have ids of clients and providers beside UUIDs."""


_count = st.integers(1, 3)
_simple = st.one_of(
    st.builds(Stage, st.just("say")),
    st.builds(Stage, st.just("note")),
    st.builds(Stage, st.just("ask")),
)
_inner = st.lists(_simple, min_size=1, max_size=2).map(tuple)
_stage = st.one_of(
    _simple,
    st.builds(Stage, st.just("tool"), count=st.integers(1, 2), asks=st.booleans(), told=st.booleans()),
    st.builds(Stage, st.sampled_from(["hear", "write"])),
    st.builds(Stage, st.just("end"), count=st.integers(1, 2)),
    st.builds(Stage, st.sampled_from(["fan", "calls"]), count=_count, asks=st.booleans()),
    st.builds(Stage, st.just("jump"), target=st.integers(0, 3)),
    st.builds(Stage, st.just("pair"), asks=st.booleans()),
    st.builds(Stage, st.sampled_from(["sub", "memo", "loose", "agent"]), inner=_inner),
    st.builds(Stage, st.sampled_from(["drop", "edit"])),
    st.builds(Stage, st.just("clear"), count=st.integers(0, 2)),
)
_threads = st.sampled_from([0, 0, 0, 1])
_failing = st.integers(0, 11)
_choices = st.integers(0, 20)


def _ops(*kinds: str, **drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[Op]:
    """Return operations of these kinds that run in a drawn manner; what is not drawn is as usual."""
    how = {"durability": st.sampled_from(["async", "sync", "exit"]), "face": st.sampled_from(["async", "sync"])}
    return st.builds(Op, st.sampled_from(kinds), thread=_threads, **{**how, **drawn})


_forms = st.sampled_from(["message", "message", "blocks", "role", "dict"])
_say = _ops("say", secret=st.booleans(), form=_forms)
_fail = _ops("say", fails=_failing, form=_forms)
_go_on = _ops("go_on")
_answer = _ops("resume", answer=st.sampled_from([True, "yes", "a free answer", 7]), choice=st.integers(0, 2))
_result = _ops("result", choice=st.integers(0, 1), fails=st.one_of(st.just(-1), st.just(-1), _failing))
_fail_again = _ops("go_on", "resume", fails=st.integers(0, 3))
_next = st.one_of(
    _say,
    _ops("resend", secret=st.booleans(), form=_forms),
    _ops("beside", fails=st.one_of(st.just(-1), _failing), secret=st.booleans()),
    _fail,
    _answer,
    _go_on,
    _ops("nudge"),
    _result,
    _fail_again,
    _ops("update", choice=st.integers(-1, 11)),
    _ops("fork", choice=_choices, answer=st.sampled_from([None, "say", "update"]), form=_forms),
    _ops("restart"),
    _ops("copy"),
    _ops("delete", "prune"),
    _ops("late"),
)


_scenes: list[tuple[st.SearchStrategy[Op], ...]] = [
    (_say,),
    (_say, _answer),
    (_fail, _go_on),
    (_fail, _say),
    (_say, _fail_again, st.one_of(_go_on, _answer, _say)),
    (_say, _result),
    (_say, _next),
    (_say, _ops("delete"), _say),
    (_fail, _ops("delete"), st.one_of(_say, _go_on)),
    (_ops("late"), _say),
    (_say, _ops("restart"), _answer),
    (_say, _ops("beside"), _next),
    (_ops("beside", fails=_failing), _next),
    (_next,),
    (_next, _next),
]
"""What is mostly done in a row: a turn, and what becomes of it."""


@st.composite
def _on_one_thread(draw: st.DrawFn) -> tuple[Op, ...]:
    """Return a scene that is played on one thread."""
    scene = draw(st.sampled_from(_scenes))
    thread = draw(_threads)
    return tuple(replace(draw(op), thread=thread) for op in scene)


programs = st.builds(
    Program,
    stages=st.lists(_stage, min_size=1, max_size=4).map(tuple),
    ops=st.lists(_on_one_thread(), min_size=1, max_size=5).map(
        lambda scenes: tuple(op for scene in scenes for op in scene)
    ),
    breakpoint=st.one_of(st.just(-1), st.just(-1), st.integers(0, 7)),
    foreign_ids=st.booleans(),
)
