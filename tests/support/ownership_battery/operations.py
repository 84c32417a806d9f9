"""Every operation of the server's API, and what happens when Carol tries it on what is Ann's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ownership_battery.things import NEVER, Things, part_of

HIDDEN = frozenset({404})
"""As if there were no such thing."""
REFUSED = frozenset({404, 409})
"""409: an id is taken, and that is all that is said."""
FORBIDDEN = frozenset({403})
NOTHING = frozenset({200, 204})
"""An answer without anything of hers."""

Fill = Callable[[Things], Any]


def nothing(_):
    """Send no body."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to use an operation. `{…}` in the path are fields of `Things`."""

    method: str
    path: str
    told: frozenset[int]
    """Statuses that Carol gets."""
    body: Fill = nothing
    query: Fill = nothing
    note: str = ""
    owner: frozenset[int] | None = frozenset({200, 201, 202, 204})
    """Statuses that Ann gets: the attempt would work, if it were hers. None: she can't do it either."""
    counts: bool = False
    """The answer is a number, which must be 0 for Carol and not for Ann."""

    @property
    def only_looks(self):
        """Whether it changes nothing, whoever makes it."""
        return self.method == "GET" or self.path.endswith(("/search", "/count", "/namespaces", "/versions", "/history"))

    @property
    def part(self):
        """The kind of things that it is about."""
        return part_of(self.path)

    @property
    def operation(self):
        """The method, and the path as the OpenAPI has it."""
        return self.method, self.path

    def __str__(self):
        return f"{self.method} {self.path} {self.note}".strip()


def run(note="", *, told=HIDDEN, owner=frozenset({200}), body, path="/runs"):
    """Return an attempt to create a run."""
    return Attempt(method="POST", path=path, told=told, note=note, owner=owner, body=body)


def _get(path, *, told=HIDDEN, owner=frozenset({200}), **more):
    return Attempt(method="GET", path=path, told=told, owner=owner, **more)


def _post(path, *, told=HIDDEN, **more):
    return Attempt(method="POST", path=path, told=told, **more)


def _item(things):
    return {"namespace": things.namespace, "key": things.word}


def _by_assistant(things):
    return {"assistant_id": things.assistant_id, "input": {"said": "x"}, "on_completion": "delete"}


def _by_graph(_):
    return {"assistant_id": "waiting", "input": {"said": "x"}}


def _hers(things):
    return {"user_id": things.identity}


def _cron(things):
    return {"assistant_id": things.assistant_id, "schedule": NEVER, "input": {}}


def _searches(path, fields):
    """Return a search by each of the fields, and a plain one, in as many pages as there are."""
    plain = _post(path, told=NOTHING, note="all", body=lambda _: {"limit": 1000})
    return [plain, *(_post(path, told=NOTHING, note=name, body=body) for name, body in fields.items())]


def _counts(path, fields):
    return [_post(path, told=NOTHING, note=name, body=body, counts=True) for name, body in fields.items()]


THREADS = [
    *(
        _post("/threads", told=REFUSED, note=f"if_exists={choice}", owner=owner, body=body)
        for choice, owner, body in (
            ("raise", None, lambda t: {"thread_id": t.thread_id, "if_exists": "raise"}),
            ("do_nothing", frozenset({200}), lambda t: {"thread_id": t.thread_id, "if_exists": "do_nothing"}),
        )
    ),
    _post(
        "/threads",
        told=REFUSED,
        note="supersteps",
        body=lambda t: {
            "thread_id": t.thread_id,
            "if_exists": "do_nothing",
            "metadata": {"graph_id": "waiting"},
            "supersteps": [{"updates": [{"values": {"said": "changed"}, "as_node": "wait"}]}],
        },
    ),
    *_searches(
        "/threads/search",
        {
            "metadata": lambda t: {"metadata": {"note": t.word}},
            "owner": lambda t: {"metadata": {"owner": t.identity}},
            "values": lambda t: {"values": {"said": t.word}},
            "ids": lambda t: {"ids": [t.thread_id, t.asking_id]},
            "status": lambda _: {"status": "interrupted", "limit": 1000},
            "extract": lambda t: {"ids": [t.thread_id], "select": ["thread_id"], "extract": {"x": "values.said"}},
        },
    ),
    *_counts(
        "/threads/count",
        {"metadata": lambda t: {"metadata": {"note": t.word}}, "owner": lambda t: {"metadata": {"owner": t.identity}}},
    ),
    _post("/threads/prune", body=lambda t: {"thread_ids": [t.thread_id], "strategy": "delete"}),
    _get("/threads/{thread_id}"),
    Attempt(method="PATCH", path="/threads/{thread_id}", told=HIDDEN, body=lambda _: {"metadata": {"x": "1"}}),
    Attempt(method="DELETE", path="/threads/{thread_id}", told=HIDDEN),
    _post("/threads/{thread_id}/copy", told=REFUSED),
    _get("/threads/{thread_id}/history"),
    _post("/threads/{thread_id}/history", body=lambda _: {"limit": 10}),
    _get("/threads/{thread_id}/state"),
    _post("/threads/{thread_id}/state", body=lambda _: {"values": {"said": "changed"}}),
    _post(
        "/threads/{thread_id}/state/checkpoint",
        body=lambda t: {
            "checkpoint": {"thread_id": t.thread_id, "checkpoint_ns": "", "checkpoint_id": t.checkpoint_id}
        },
    ),
    _get("/threads/{thread_id}/state/{checkpoint_id}"),
    # A checkpointer of one's own has no such figures.
    _get("/threads/{thread_id}/storage", told=frozenset({404, 501}), owner=frozenset({501})),
]

RUNS = [
    _get("/threads/{thread_id}/runs"),
    run("in a thread", path="/threads/{thread_id}/runs", body=_by_graph),
    run("in a thread", path="/threads/{thread_id}/runs/wait", body=_by_graph),
    run("in a thread", path="/threads/{thread_id}/runs/stream", body=_by_graph),
    run("if_not_exists", path="/threads/{thread_id}/runs", body=lambda t: {**_by_graph(t), "if_not_exists": "create"}),
    *(run("by an assistant", path=path, body=_by_assistant) for path in ("/runs", "/runs/wait", "/runs/stream")),
    run("by an assistant", path="/runs/batch", body=lambda t: [_by_assistant(t)]),
    *(
        run("in her name", path=path, told=frozenset({403}), body=body)
        for path in ("/runs", "/runs/wait", "/runs/stream")
        for body in (
            lambda t: {**_by_graph(t), "context": {"user_id": t.identity}},
            lambda t: {**_by_graph(t), "config": {"configurable": {"user_id": t.identity}}},
        )
    ),
    run(
        "in her name",
        path="/runs/batch",
        told=frozenset({403}),
        body=lambda t: [{**_by_graph(t), "context": {"user_id": t.identity}}],
    ),
    run(
        "with her thread in it",
        path="/runs/wait",
        told=NOTHING,
        body=lambda t: {"assistant_id": "waiting", "input": {}, "config": {"configurable": {"thread_id": t.thread_id}}},
    ),
    run(
        "at her checkpoint",
        path="/runs/wait",
        told=frozenset({200, 404, 422}),
        owner=None,
        body=lambda t: {
            "assistant_id": "waiting",
            "input": {},
            "checkpoint": {"thread_id": t.thread_id, "checkpoint_ns": "", "checkpoint_id": t.checkpoint_id},
        },
    ),
    _get("/threads/{thread_id}/runs/{run_id}"),
    Attempt(method="DELETE", path="/threads/{thread_id}/runs/{run_id}", told=HIDDEN),
    _get("/threads/{thread_id}/runs/{run_id}/join"),
    # A stream has begun with 200 before the server looks; what comes then is the error.
    _get("/threads/{thread_id}/runs/{run_id}/stream", told=NOTHING),
    # The run is over; a running one is in the tests of what is live.
    _post("/threads/{thread_id}/runs/{run_id}/cancel", owner=None),
    _post("/runs/cancel", note="by ids", owner=None, body=lambda t: {"thread_id": t.thread_id, "run_ids": [t.run_id]}),
    _post("/runs/cancel", note="all", owner=None, body=lambda _: {"status": "all"}),
    _post(
        "/threads/{thread_id}/commands",
        note="run.start",
        told=NOTHING,
        body=lambda _: {"id": 1, "method": "run.start", "params": {"assistant_id": "waiting", "input": {"said": "x"}}},
    ),
    _post(
        "/threads/{asking_id}/commands",
        note="input.respond",
        told=NOTHING,
        body=lambda t: {
            "id": 1,
            "method": "input.respond",
            "params": {"namespace": [], "interrupt_id": t.interrupt_id, "response": "yes"},
        },
    ),
]

ASSISTANTS = [
    *(
        _post("/assistants", told=REFUSED, note=f"if_exists={choice}", owner=owner, body=body)
        for choice, owner, body in (
            ("raise", None, lambda t: {"assistant_id": t.assistant_id, "graph_id": "waiting", "if_exists": "raise"}),
            (
                "do_nothing",
                frozenset({200}),
                lambda t: {"assistant_id": t.assistant_id, "graph_id": "waiting", "if_exists": "do_nothing"},
            ),
        )
    ),
    _post(
        "/assistants",
        note="in her name",
        told=frozenset({403}),
        body=lambda t: {"graph_id": "waiting", "context": {"user_id": t.identity}},
    ),
    *_searches(
        "/assistants/search",
        {
            "metadata": lambda t: {"metadata": {"note": t.word}},
            "owner": lambda t: {"metadata": {"owner": t.identity}},
            "graph": lambda _: {"graph_id": "waiting", "limit": 1000},
            "name": lambda t: {"name": t.word},
        },
    ),
    *_counts(
        "/assistants/count", {"metadata": lambda t: {"metadata": {"note": t.word}}, "name": lambda t: {"name": t.word}}
    ),
    _get("/assistants/{assistant_id}"),
    Attempt(method="PATCH", path="/assistants/{assistant_id}", told=HIDDEN, body=lambda _: {"name": "changed"}),
    Attempt(method="DELETE", path="/assistants/{assistant_id}", told=HIDDEN),
    Attempt(
        method="DELETE",
        path="/assistants/{assistant_id}",
        told=HIDDEN,
        note="with threads",
        query=lambda _: {"delete_threads": "true"},
    ),
    _get("/assistants/{assistant_id}/graph"),
    _get("/assistants/{assistant_id}/schemas"),
    _get("/assistants/{assistant_id}/subgraphs"),
    _get("/assistants/{assistant_id}/subgraphs/{namespace_of_subgraph}"),
    _post("/assistants/{assistant_id}/versions", body=lambda _: {}),
    _post("/assistants/{assistant_id}/latest", body=lambda _: {"version": 1}),
]

CRONS = [
    _post("/runs/crons", body=_cron),
    _post(
        "/runs/crons",
        note="in her name",
        told=frozenset({403}),
        body=lambda t: {
            **_cron(t),
            "assistant_id": "waiting",
            "config": {"configurable": {"user_id": t.identity}},
        },
    ),
    _post("/threads/{thread_id}/runs/crons", body=lambda t: {**_cron(t), "assistant_id": "waiting"}),
    *_searches(
        "/runs/crons/search",
        {
            "metadata": lambda t: {"metadata": {"note": t.word}},
            "thread": lambda t: {"thread_id": t.thread_id},
            "graph": lambda _: {"limit": 1000, "select": ["cron_id", "payload"]},
        },
    ),
    *_counts(
        "/runs/crons/count",
        {"metadata": lambda t: {"metadata": {"note": t.word}}, "thread": lambda t: {"thread_id": t.thread_id}},
    ),
    _get("/runs/crons/{cron_id}"),
    Attempt(method="PATCH", path="/runs/crons/{cron_id}", told=HIDDEN, body=lambda _: {"schedule": "0 1 * * *"}),
    Attempt(method="DELETE", path="/runs/crons/{cron_id}", told=HIDDEN),
]

STORE = [
    Attempt(method="PUT", path="/store/items", told=NOTHING, body=lambda t: {**_item(t), "value": {"text": "changed"}}),
    _get("/store/items", told=NOTHING, query=lambda t: {"namespace": ".".join(t.namespace), "key": t.word}),
    _get(
        "/store/items",
        told=NOTHING,
        note="as she says",
        query=lambda t: {"namespace": f"notes.{t.word}", "key": t.word},
    ),
    Attempt(method="DELETE", path="/store/items", told=NOTHING, body=_item),
    *(
        _post("/store/items/search", told=NOTHING, note=note, body=body)
        for note, body in {
            "all": lambda _: {"namespace_prefix": [], "limit": 1000},
            "hers": lambda t: {"namespace_prefix": t.namespace[:2], "limit": 1000},
            "filter": lambda t: {"namespace_prefix": [], "filter": {"text": t.word}},
            "query": lambda t: {"namespace_prefix": [], "query": t.word},
        }.items()
    ),
    *(
        _post("/store/namespaces", told=NOTHING, note=note, body=body)
        for note, body in {
            "all": lambda _: {"limit": 1000},
            "users": lambda _: {"prefix": ["users"], "max_depth": 2},
            "hers": lambda t: {"prefix": t.namespace[:2]},
            "suffix": lambda t: {"suffix": [t.word]},
        }.items()
    ),
]

MEMORIES = [
    _post(
        "/memory/store", note="in her name", told=FORBIDDEN, body=lambda t: {**_hers(t), "short_answer": "I like tea."}
    ),
    _get("/memory/entry/{entry_id}"),
    _get("/memory/entry/{entry_id}", note="in her name", told=FORBIDDEN, query=_hers),
    Attempt(method="DELETE", path="/memory/entry/{entry_id}", told=HIDDEN),
    Attempt(
        method="DELETE",
        path="/memory/entry/{entry_id}",
        note="in her name",
        told=FORBIDDEN,
        query=_hers,
    ),
    _get("/memory/query", told=NOTHING, note="all"),
    _get("/memory/query", told=FORBIDDEN, note="in her name", query=_hers),
    _post("/memory/search", told=NOTHING, body=lambda t: {"q": t.word}),
    _post("/memory/search", told=FORBIDDEN, note="in her name", body=lambda t: {**_hers(t), "q": t.word}),
    _post("/memory/feedback", body=lambda t: {"entry_id": t.entry_id, "rating": 1, "comment": "x"}),
    # A session is one's own, whatever it is called: the answer says how many of one's own have ended.
    _post("/memory/session/{thread_id}/end", told=frozenset({200, 204, 404}), owner=None),
]

EXTRACTION = [
    _post("/memory/extraction/start", note="in her name", told=FORBIDDEN, body=_hers),
    _get("/memory/proposals", told=NOTHING, note="all"),
    _get("/memory/proposals", told=FORBIDDEN, note="in her name", query=_hers),
    _post("/memory/proposals/{proposal_key}/accept", body=lambda _: {}),
    _post("/memory/proposals/{proposal_key}/accept", note="changed", body=lambda t: {"text": f"No {t.word}."}),
    _post(
        "/memory/proposals/{proposal_key}/accept",
        told=FORBIDDEN,
        note="in her name",
        query=_hers,
        body=lambda _: {},
    ),
    Attempt(method="DELETE", path="/memory/proposals/{proposal_key}", told=HIDDEN),
    Attempt(method="DELETE", path="/memory/proposals/{proposal_key}", told=FORBIDDEN, note="in her name", query=_hers),
]

RIGHTS = [
    _get("/memory/export", told=NOTHING, note="all"),
    _get("/memory/export", told=FORBIDDEN, note="in her name", query=_hers),
    _post("/memory/erasure", told=NOTHING, owner=frozenset({200}), body=lambda _: {"scope": "all", "dry_run": True}),
    _post(
        "/memory/erasure",
        told=FORBIDDEN,
        note="in her name",
        owner=frozenset({200}),
        body=lambda t: {"scope": "all", "dry_run": True, **_hers(t)},
    ),
    _post(
        "/memory/erasure",
        told=NOTHING,
        note="her thread",
        owner=frozenset({200}),
        body=lambda t: {"scope": "thread", "session_id": t.thread_id, "dry_run": True},
    ),
    _get("/memory/erasure/{erasure_key}", told=HIDDEN),
    _get("/memory/erasure/{erasure_key}", told=FORBIDDEN, note="in her name", query=_hers),
    _get("/memory/delegations", told=NOTHING, note="all"),
    _get("/memory/delegations", told=FORBIDDEN, note="in her name", query=_hers),
    _post(
        "/memory/delegations",
        told=FORBIDDEN,
        note="in her name",
        owner=frozenset({201}),
        body=lambda t: {**_hers(t), "delegate_id": "carol's friend"},
    ),
    Attempt(method="DELETE", path="/memory/delegations/{delegate_key}", told=HIDDEN),
    Attempt(
        method="DELETE", path="/memory/delegations/{delegate_key}", told=FORBIDDEN, note="in her name", query=_hers
    ),
]

ATTEMPTS = [*THREADS, *RUNS, *ASSISTANTS, *CRONS, *STORE, *MEMORIES, *EXTRACTION, *RIGHTS]

ADMINISTRATORS = {
    ("GET", "/memory/settings"),
    ("PATCH", "/memory/settings"),
    ("GET", "/memory/settings/history"),
    ("GET", "/memory/metrics"),
    *(("GET", f"/memory/extraction/{path}") for path in ("jobs", "jobs/{job_key}", "status")),
    *(("POST", f"/memory/extraction/jobs/{{job_key}}/{end}") for end in ("cancel", "retry")),
    ("GET", "/memory/admin/jobs"),
    *(("POST", f"/memory/admin/jobs/{{job_key}}/{end}") for end in ("cancel", "retry")),
    ("GET", "/memory/admin/review"),
    ("GET", "/memory/admin/review/{user_key}/{proposal_key}/edit"),
    *(("POST", f"/memory/admin/review/{{user_key}}/{{proposal_key}}/{end}") for end in ("accept", "edit", "refuse")),
    ("POST", "/memory/admin/login"),
    ("POST", "/memory/admin/logout"),
    *(("GET", f"/memory/admin{page}") for page in ("", "/", "/conflicts", "/history", "/people", "/settings")),
    *(("GET", f"/memory/admin/people/{{identity}}/memories/{{entry_id}}{page}") for page in ("", "/delete", "/edit")),
    *(("POST", f"/memory/admin/people/{{identity}}/memories/{{entry_id}}{page}") for page in ("/delete", "/edit")),
    *(("POST", f"/memory/admin{page}") for page in ("/settings", "/people")),
    *(("GET", f"/memory/admin/people/{{identity}}{page}") for page in ("", "/conflicts", "/export")),
    ("GET", "/memory/admin/people/{identity}/receipts/{erasure_key}"),
    *(
        (method, f"/memory/admin/people/{{identity}}/{page}")
        for method in ("GET", "POST")
        for page in ("erase", "memories", "name", "recall")
    ),
    ("POST", "/memory/admin/people/{identity}/conflicts/{older}/{newer}"),
    ("POST", "/memory/admin/conflicts/{user}/{older}/{newer}"),
    ("GET", "/memory/admin/moments"),
    ("POST", "/memory/admin/moments/{entry_id}/delete"),
}
"""They take an administrator, which neither of the two is."""

PERSONAL = {
    *(("GET", f"/memory/me{page}") for page in ("", "/", "/export", "/receipts/{erasure_key}", "/take-away")),
    *(("POST", f"/memory/me/{page}") for page in ("login", "logout")),
    *(
        (method, f"/memory/me/{page}")
        for method in ("GET", "POST")
        for page in ("forget", "memories", "memories/{entry_id}/correct", "memories/{entry_id}/forget")
    ),
}
"""Pages of one's own, which take a session and no token: whom the session is of is all that says whose they are. Sessions of two users are
tried at each other's things in tests/integration/api/test_my_pages.py."""

STREAMS = {
    ("GET", "/threads/{thread_id}/stream"),
    ("POST", "/threads/{thread_id}/stream/events"),
    ("WEBSOCKET", "/threads/{thread_id}/stream/events"),
}
"""They last; tests of their own try them."""

OPEN = {
    ("GET", path)
    for path in (
        "/",
        "/ok",
        "/info",
        "/metrics",
        "/docs",
        "/openapi.json",
        "/memory/health",
        "/memory/health/live",
        "/memory/health/ready",
        "/memory/admin/login",
        "/memory/me/login",
    )
}
"""Anybody may see them, and sees nothing of anybody."""

CLOSED = {
    ("GET", "/internal/debug/thread/{thread_id}"),
    ("POST", "/internal/truncate"),
    ("GET", "/deploy"),
    ("POST", "/deploy"),
    ("GET", "/deploy/{operation_id}/stream"),
}
"""Nobody gets there."""

FILES = {
    ("POST", "/ui/{graph_id}"),
    ("MOUNT", "/ui"),
    *(("GET", f"/memory/{area}/static/{{name}}") for area in ("admin", "me")),
}
"""Pages of graphs that have some; they are the same for all."""
