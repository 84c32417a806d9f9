"""What aegra.json names: the application in front of Aegra's routes, and its `auth`. Wiring only."""

from __future__ import annotations

from starlette.middleware import Middleware

from discreet.api.aegra.arriving import Arriving
from discreet.api.aegra.auth import make_auth
from discreet.api.aegra.database import persistence
from discreet.api.aegra.narrowing import Narrowed
from discreet.api.aegra.ready import Ready, broker
from discreet.api.aegra.rows import AegraRows
from discreet.api.aegra.starting import PlainStart, sentence
from discreet.api.health import HealthChecks
from discreet.api.process_app import make_process_app, prepare_process, services_of
from discreet.errors import ConfigurationError

try:
    process = prepare_process()
    kept = persistence()
except ConfigurationError as error:
    # The process ends by this sentence: before any other error Aegra shows sixty lines of its own.
    raise SystemExit(sentence(error)) from None


async def is_busy(thread_id: str) -> bool:
    """Tell whether a thread has a run that is not over."""
    return await kept.turns().is_busy(thread_id)


app = make_process_app(process, documented=True, elsewhere=[AegraRows()])
# Innermost, behind the ingress: what `add_middleware` adds would stand before it.
needed = {"database": HealthChecks(services_of(process)).is_ready, **broker()}
app.user_middleware += [
    Middleware(PlainStart),
    Middleware(Ready, parts=needed),
    Middleware(Narrowed, is_busy=is_busy),
    Middleware(Arriving),
]
auth = make_auth(process.authenticator, denials=process.denials)


@app.get("/ok", include_in_schema=False)
async def ok() -> dict[str, bool]:
    """Tell anybody that this process takes requests."""
    return {"ok": True}
