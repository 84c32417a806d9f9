"""What `discreet serve` runs: the REST API and the admin page, without a LangGraph server. Wiring only."""

from __future__ import annotations

from discreet.api.process_app import make_process_app, prepare_process
from discreet.api.request_log import log_requests
from discreet.redaction.logged.formats import log_to_stderr
from discreet.settings import load_settings

log_to_stderr(load_settings().log_format)
app = make_process_app(prepare_process(), documented=True)
log_requests(app)


@app.get("/ok", include_in_schema=False)
async def ok() -> dict[str, bool]:
    """Tell anybody that this process takes requests; `/memory/health` tells whether its parts work."""
    return {"ok": True}
