"""Prometheus counters, gauges and histograms. No label ever carries a user, a thread or a text.

A gauge says how it is put together where several processes share a folder (PROMETHEUS_MULTIPROC_DIR): what they have each is
summed, of what they all see in one database the newest counts. A gauge with a label is not shown before it was set: a process
without a database says nothing of one. docs/monitoring.md lists them all; `discreet.metrics_server` shows them.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Bounds for what people wait for. A second is one of them: an alert asks for what takes longer."""

gate_decisions = Counter(
    "discreet_gate_decisions_total", "Decisions of the memory gate, by what decided.", ["decision", "reason"]
)
gate_failures = Counter(
    "discreet_gate_failures_total",
    "Turns that retrieved because a part of the gate (decide, embedding or model) failed.",
    ["part", "cause"],
)
forgotten_unread = Counter(
    "discreet_forgotten_unread_total", "Prompts for which it could not be read which rounds were forgotten.", ["cause"]
)
retrieve_failures = Counter(
    "discreet_retrieve_failures_total", "Turns that went on without memories because the search failed.", ["cause"]
)
retrieve_seconds = Histogram("discreet_retrieve_seconds", "Time one retrieval took.")
search_seconds = Histogram(
    "discreet_memory_search_seconds",
    "Time that one search of memories took, that of its embedding included, whether it found anything or failed.",
    buckets=SECONDS,
)
search_database_seconds = Histogram(
    "discreet_memory_search_database_seconds",
    "Time that the database took for one search of memories, a wait for a connection included.",
    buckets=SECONDS,
)
request_seconds = Histogram(
    "discreet_request_seconds",
    "Time that a request of the REST API took, to the end of its answer, by method, route and status.",
    ["method", "route", "status"],
    buckets=SECONDS,
)
persist_failures = Counter(
    "discreet_persist_failures_total", "Turns that could not be kept in one of their places.", ["what", "cause"]
)
unreadable_rows = Counter(
    "discreet_unreadable_rows_total", "Stored rows that were passed over since they can't be opened"
)
memories_saved = Counter("discreet_memories_saved_total", "Memories saved, by type.", ["type"])
memories_refused = Counter("discreet_memories_refused_total", "Texts refused as memories, by reason.", ["reason"])
redactions = Counter("discreet_redactions_total", "Values replaced by placeholders, by type.", ["type"])
dropped_writes = Counter(
    "discreet_dropped_writes_total", "Channel values and task writes that were left out of what was stored.", ["kind"]
)
row_cache_bytes = Gauge(
    "discreet_row_cache_bytes",
    "Memory that savers keep the messages of threads in use in, so that a turn need not ask for their rows.",
    multiprocess_mode="livesum",
)
pool_in_use = Gauge(
    "discreet_pool_in_use", "Callers who have a place in a pool of database connections.", multiprocess_mode="livesum"
)
pool_limit = Gauge(
    "discreet_pool_limit", "Database connections that the pools in use may open.", multiprocess_mode="livesum"
)
pool_waiting = Gauge("discreet_pool_waiting", "Callers in line for a database connection.", multiprocess_mode="livesum")
pool_wait_seconds = Histogram(
    "discreet_pool_wait_seconds",
    "Time that callers stood in line for a database connection; who did not have to is not counted.",
)
pool_refused = Counter(
    "discreet_pool_refused_total",
    "Callers that got no database connection since too many waited already, or none came free in time.",
)
storage_failures = Counter(
    "discreet_storage_failures_total",
    "Times that the database could not do what was asked, by code of the error.",
    ["code"],
)
replica_failures = Counter(
    "discreet_replica_failures_total", "Searches that the primary did since the replica failed, by cause.", ["cause"]
)
spill_unreadable = Counter(
    "discreet_spill_unreadable_total", "Paused turns in the database that could not be opened, by cause.", ["cause"]
)
reembedded_rows = Counter("discreet_reembedding_rows_total", "Memories moved to the active embedding space.")
reembedding_failures = Counter(
    "discreet_reembedding_failures_total",
    "Batches of memories that could not be embedded or opened, by cause.",
    ["cause"],
)
reembedding_rows_left = Gauge(
    "discreet_reembedding_rows_left",
    "Memories of people still to be moved, about.",
    multiprocess_mode="mostrecent",
)
vault_failures = Counter(
    "discreet_vault_failures_total", "Times the turn vault failed, so that model and tools got placeholders.", ["cause"]
)
short_term_failures = Counter(
    "discreet_short_term_failures_total",
    "Calls of the short-term store that turns went on without.",
    ["doing", "cause"],
)
duplicate_deliveries = Counter(
    "discreet_duplicate_deliveries_total",
    "Messages that were delivered again, by kind and by what they got.",
    ["kind", "got"],
)
outage_turns = Counter(
    "discreet_outage_turns_total",
    "Turns answered while the checkpointer could not be reached, by what was lost.",
    ["lost"],
)
summaries = Counter("discreet_summaries_total", "Times that a chunk of rounds was to go into a rolling summary.")
summary_failures = Counter(
    "discreet_summary_failures_total", "Rolling summaries that were not written or not read, by cause.", ["cause"]
)
conversation_rounds = Histogram(
    "discreet_conversation_rounds", "Rounds of a conversation when a turn ended.", buckets=(1, 5, 10, 20, 50, 100)
)
unsummarised_rounds = Histogram(
    "discreet_unsummarised_rounds",
    "Rounds of a conversation that its rolling summary lacked when a turn read it; all, if it could not be read.",
    buckets=(5, 10, 20, 50, 100, 200),
)
model_retries = Counter(
    "discreet_model_retries_total", "Times that the chat model was asked again after a failure, by cause.", ["cause"]
)
model_fallbacks = Counter(
    "discreet_model_fallbacks_total", "Times that the fallback model was asked for an answer, by cause.", ["cause"]
)
annotation_failures = Counter(
    "discreet_annotation_failures_total", "Turns that were kept without annotations, by cause.", ["cause"]
)
tool_errors = Counter(
    "discreet_tool_errors_total", "Tool calls that failed, by the code that the model was told.", ["code"]
)
prompt_tokens = Histogram(
    "discreet_prompt_tokens",
    "Tokens of a prompt, by part.",
    ["part"],
    buckets=(0, 50, 100, 150, 200, 300, 500, 800, 1_200, 2_000, 4_000, 8_000, 16_000),
)
prompt_cut = Counter(
    "discreet_prompt_cut_total", "Rounds, memories and summaries left out of a prompt or shortened, by part.", ["part"]
)
media_summary_fallbacks = Counter(
    "discreet_media_summary_fallbacks_total", "Media whose summary a model failed to make, by cause.", ["cause"]
)
triggers_fired = Counter(
    "discreet_triggers_fired_total", "Sessions whose turns were taken for background memory, by trigger.", ["trigger"]
)
oldest_due_seconds = Gauge(
    "discreet_oldest_due_session_seconds",
    "For how long the turns of the session wait that is due longest.",
    multiprocess_mode="livemostrecent",
)
oldest_pending_seconds = Gauge(
    "discreet_oldest_pending_session_seconds",
    "For how long the oldest turns wait that nobody has extracted from, due or not; 0 where extraction is off.",
    multiprocess_mode="mostrecent",
)
oldest_due_job_seconds = Gauge(
    "discreet_oldest_due_job_seconds",
    "For how long the batch that is due longest waits for a worker.",
    multiprocess_mode="mostrecent",
)
leases_held = Gauge("discreet_batch_leases_held", "Batches that a worker is at now.", multiprocess_mode="mostrecent")
leases_lost = Counter("discreet_batch_leases_lost_total", "Batches that went to another worker while one was at them.")
workers_alive = Gauge(
    "discreet_workers_alive", "Workers that were seen within a minute.", multiprocess_mode="mostrecent"
)
batches_submitted = Counter(
    "discreet_batches_submitted_total", "Batches of prompts that were handed in, by provider.", ["provider"]
)
batch_jobs = Gauge(
    "discreet_batch_jobs", "Batches that the database knows, by state.", ["state"], multiprocess_mode="mostrecent"
)
extraction_items = Counter(
    "discreet_extraction_items_total",
    "What came of background memory: facts added, superseded, known, proposed, refused by reason; summaries.",
    ["result"],
)
extraction_failures = Counter(
    "discreet_extraction_failures_total", "Prompts and calls of providers that failed, by cause.", ["cause"]
)
extraction_tokens = Counter(
    "discreet_extraction_tokens_total", "Tokens of background memory, by direction.", ["direction"]
)
extraction_seconds = Histogram("discreet_extraction_seconds", "Time that a pass of a worker took.")
retention_swept = Counter(
    "discreet_retention_swept_total", "What was deleted since its time was over, by kind: docs/retention.md.", ["kind"]
)
retention_failures = Counter(
    "discreet_retention_failures_total", "Times that a kind could not be swept, by kind and cause.", ["kind", "cause"]
)
history_writes = Counter(
    "discreet_history_dual_writes_total",
    "Rounds of a V1 history that an application handed over while it writes both, by what became of them.",
    ["outcome"],
)
history_reads = Counter(
    "discreet_history_reads_total",
    "Readings of a history during its migration, by where they were answered from; fallback: ours had failed.",
    ["source"],
)
database_up = Gauge(
    "discreet_database_up",
    "Whether the database worked when this process asked it last, 1 or 0; it asks once a minute.",
    ["role"],
    multiprocess_mode="livemin",
)
short_term_bytes = Gauge(
    "discreet_short_term_bytes", "Bytes that short-term memory takes.", ["store"], multiprocess_mode="mostrecent"
)
short_term_limit_bytes = Gauge(
    "discreet_short_term_limit_bytes",
    "Bytes that short-term memory may take: Redis' maxmemory, else DISCREET_SHORT_TERM_BYTES.",
    ["store"],
    multiprocess_mode="mostrecent",
)
oldest_erasure_seconds = Gauge(
    "discreet_oldest_erasure_seconds",
    "For how long the oldest erasure is under way that is not done.",
    multiprocess_mode="mostrecent",
)
maintenance_failures = Counter(
    "discreet_maintenance_failures_total",
    "Times that periodic work beside a process failed, by its name and cause.",
    ["work", "cause"],
)
