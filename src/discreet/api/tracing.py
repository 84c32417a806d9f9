"""LangSmith tracing: off unless `DISCREET_TRACING=hidden` allows it, and then without any text.

A LangSmith key alone turns tracing on in LangGraph's server, and Agent Server takes its licence by such a key. A trace
holds what the model saw, which is the raw text. LangSmith's own switches (LANGSMITH_HIDE_INPUTS, _OUTPUTS, _METADATA)
leave errors with their messages, events, tags, invocation parameters and the names of runs, which a client may choose.
So what leaves is a list of fields that may, not of those that may not.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

import langsmith
from langsmith.utils import tracing_is_enabled

from discreet.ports import TextRedactor
from discreet.settings import Settings

logger = logging.getLogger(__name__)

KEPT = frozenset(
    {
        "id",
        "trace_id",
        "dotted_order",
        "parent_run_id",
        "reference_example_id",
        "start_time",
        "end_time",
        "session_id",
        "address",
        "run_type",
        # Where it is sent, and who sends it:
        "api_key",
        "api_url",
        "service_key",
        "tenant_id",
        "authorization",
        "cookie",
        "_replica_auths",
    }
)
"""Fields of a run that hold ids, times and credentials of LangSmith, never text of a user."""

WORDS = frozenset({"name", "session_name", "project_name"})
"""Names that the code gives, but that a client may give too: kept if they are one word, redacted."""

METADATA = frozenset(
    {
        "langgraph_node",
        "langgraph_step",
        "ls_provider",
        "ls_model_name",
        "ls_model_type",
        "ls_temperature",
        "ls_max_tokens",
    }
)
"""What is kept of a run's metadata: which node, which model. Ids of users and threads are not."""

EVENTS = frozenset({"start", "new_token", "end", "error", "retry"})
UNNAMED, UNNAMED_RUN = "Error", "unnamed"

_WORD = re.compile(r"[A-Za-z0-9_.:,/<>|-]{1,100}")
"""Names of nodes, tools, models and classes; a sentence, and a word of most other scripts, is none."""

_ERROR_NAME = re.compile(r"(?a:[A-Za-z_]\w{0,80}?(?:Error|Exception|Interrupt|Cancelled|Exit))(?=\(|$)")
"""The class at the beginning of an exception's repr; anything else in an error may be text of a user."""


class TextlessClient(langsmith.Client):
    """A LangSmith client that sends what ran, when and for how long, and no text; silenced, it sends nothing."""

    def __init__(self, redactor: TextRedactor, *, silent: bool = False, **options: Any) -> None:
        """`options` are those of LangSmith's client; the switches that hide are set whatever they say."""

        def anonymise(data: dict[str, Any]) -> dict[str, Any]:
            # For paths that don't lead through the methods below: LangSmith hands over an error alone, or metadata.
            return {"error": error_name(data["error"])} if set(data) == {"error"} else _metadata(data, redactor)

        hiding = {"hide_inputs": True, "hide_outputs": True, "anonymizer": anonymise, "omit_traced_runtime_info": True}
        super().__init__(**{**options, **hiding})
        self._redactor, self._silent = redactor, silent

    def create_run(self, name: str, inputs: dict[str, Any], run_type: Any, **fields: Any) -> None:
        """Send the beginning of a run without its text."""
        if not self._silent:
            super().create_run(_word(name, self._redactor), {}, run_type, **textless(fields, self._redactor))

    def update_run(self, run_id: Any, **fields: Any) -> None:
        """Send the end of a run without its text."""
        if not self._silent:
            super().update_run(run_id, **textless(fields, self._redactor))


def textless(fields: Mapping[str, Any], redactor: TextRedactor) -> dict[str, Any]:
    """Return what may leave of a run's fields: ids, times, the class of an error, node and model."""
    kept = {key: value for key, value in fields.items() if key in KEPT}
    kept |= {key: _word(value, redactor) for key, value in fields.items() if key in WORDS and value}
    if fields.get("error") is not None:
        kept["error"] = error_name(fields["error"])
    if fields.get("events"):
        kept["events"] = _events(fields["events"])
    extra = fields.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    kept["extra"] = {"metadata": _metadata(metadata if isinstance(metadata, Mapping) else {}, redactor)}
    return kept


def error_name(error: object) -> str:
    """Return the class of the exception that `error`, its repr and traceback, begins with."""
    found = _ERROR_NAME.match(str(error))
    return found[0] if found else UNNAMED


def _word(name: object, redactor: TextRedactor) -> str:
    return redactor.redact(str(name)) if _WORD.fullmatch(str(name)) else UNNAMED_RUN


def _metadata(metadata: Mapping[str, Any], redactor: TextRedactor) -> dict[str, Any]:
    known = {key: value for key, value in metadata.items() if key in METADATA}
    words = {key: _word(value, redactor) for key, value in known.items() if isinstance(value, str)}
    kept = {**words, **{key: value for key, value in known.items() if isinstance(value, int | float)}}
    usage = _numbers(metadata.get("usage_metadata"))
    return {**kept, "usage_metadata": usage} if usage else kept


def _numbers(usage: object) -> dict[str, Any]:
    """Return the counts of tokens, with those of their kinds one level below."""
    if not isinstance(usage, Mapping):
        return {}
    counts = {str(key): value if isinstance(value, int | float) else _numbers(value) for key, value in usage.items()}
    return {key: value for key, value in counts.items() if value != {}}


def _events(events: Sequence[Any]) -> list[dict[str, Any]]:
    known = [event for event in events if isinstance(event, Mapping) and event.get("name") in EVENTS]
    return [{"name": event["name"], "time": event.get("time")} for event in known]


def require_hidden_text(settings: Settings, redactor: TextRedactor) -> bool:
    """Make this process's LangSmith client one that sends no text; return whether it may send anything.

    Call it once, before a graph runs. With `DISCREET_TRACING=off` tracing is turned off, also where LangSmith's own
    variables, a key alone or a client's trace header turn it on. With `hidden` those variables decide whether there are
    traces. A client or a tracer that your own code makes is not touched.
    """
    silent = settings.tracing == "off"
    if not silent:
        langsmith.configure(client=TextlessClient(redactor))
        return True
    if tracing_is_enabled():
        logger.warning(
            "tracing_turned_off: LANGSMITH_TRACING or a LangSmith key turned tracing on, which would send raw text. "
            "Set DISCREET_TRACING=hidden for traces without text, or LANGSMITH_TRACING=false to be rid of this line."
        )
    # A sampling rate of 0 is a second lock; no info is asked of a server that nothing is sent to.
    langsmith.configure(
        enabled=False,
        client=TextlessClient(redactor, silent=True, info={}, tracing_sampling_rate=0.0, auto_batch_tracing=False),
    )
    return False
