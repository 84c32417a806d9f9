"""Long-term memory for LangGraph that keeps what matters and nothing it shouldn't.

Import from the rooms: `discreet.graph.build_graph`, `discreet.nodes.*`, `discreet.checkpoint.RedactingSaver`,
`discreet.storage.open_storage`, `discreet.redaction.redact`. Importing this package alone loads none of them.
"""
