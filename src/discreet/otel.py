"""Send spans to an OpenTelemetry collector, where the settings say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from discreet.errors import MissingDependencyError
from discreet.settings import Settings
from discreet.spans import NAMESPACE

EXPORTER: Final = "opentelemetry.exporter.otlp.proto.http"


@contextmanager
def exported_spans(settings: Settings) -> Iterator[None]:
    """Send the spans of the block by OTLP over HTTP if `DISCREET_OTEL` is on, the last of them at its end.

    Those of Discreet alone: libraries that trace what they serve or fetch write paths and queries into theirs, which may be a user's words.
    Where to, how often and under which service name is said by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_ENDPOINT`,
    `OTEL_SERVICE_NAME`, …). A provider that the process has already is left in place: its owner exports.

    Raises:
        MissingDependencyError: The extra `otel` is not installed.
    """
    if not settings.otel:
        yield
        return
    if find_spec("opentelemetry") is None or find_spec(EXPORTER) is None:
        raise MissingDependencyError(
            "DISCREET_OTEL needs two packages: pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
        )
    from opentelemetry import trace  # an extra
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        yield
        return

    class OwnSpans(BatchSpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            if span.instrumentation_scope is not None and span.instrumentation_scope.name == NAMESPACE:
                super().on_end(span)

    resource = Resource({SERVICE_NAME: "discreet"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(OwnSpans(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()
