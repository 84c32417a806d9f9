"""Show the metrics to a scraper: those of this process, or of all that share a folder (PROMETHEUS_MULTIPROC_DIR)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from tempfile import TemporaryDirectory
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import REGISTRY, CollectorRegistry, Metric, generate_latest, make_wsgi_app
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from discreet.errors import ConfigurationError
from discreet.settings import Settings, metrics_folder


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format.

    Raises:
        ConfigurationError: PROMETHEUS_MULTIPROC_DIR names no folder.
    """
    return generate_latest(_registry())


@contextmanager
def metrics_port(settings: Settings) -> Iterator[None]:
    """Show the metrics at DISCREET_METRICS_PORT inside the block, by any path; nothing happens where no port is named.

    Processes that share a folder share the port too: whichever answers tells of them all.

    Raises:
        ConfigurationError: The port can't be opened, or PROMETHEUS_MULTIPROC_DIR names no folder.
    """
    if settings.metrics_port is None:
        yield
        return
    server = _opened(settings.metrics_host, settings.metrics_port)
    serving = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    serving.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def check_metrics_port(settings: Settings) -> None:
    """Check before any process is started that the port can be opened, unless others may have opened it to share it.

    Raises:
        ConfigurationError: It can't be.
    """
    if settings.metrics_port is not None and metrics_folder() is None:
        _opened(settings.metrics_host, settings.metrics_port).server_close()


@contextmanager
def shared_folder(processes: int) -> Iterator[dict[str, str]]:
    """Yield the environment in which the processes of one server put their metrics together, in a folder that goes at the end.

    It is empty for one process, and where PROMETHEUS_MULTIPROC_DIR names a folder already.
    """
    if processes == 1 or metrics_folder() is not None:
        yield {}
        return
    with TemporaryDirectory(prefix="discreet-metrics-", ignore_cleanup_errors=True) as folder:
        yield {"PROMETHEUS_MULTIPROC_DIR": folder}


def _opened(host: str, port: int) -> WSGIServer:
    shared = metrics_folder() is not None
    try:
        return make_server(
            host,
            port,
            make_wsgi_app(_registry()),
            server_class=_SharedServer if shared else _Server,
            handler_class=_SilentHandler,
        )
    except OSError as error:
        raise ConfigurationError(
            f"DISCREET_METRICS_PORT={port} can't be opened on {host} ({error.strerror}). Each "
            "process needs a port of its own, unless those of one server share a folder (PROMETHEUS_MULTIPROC_DIR): docs/monitoring.md."
        ) from error


def _registry() -> CollectorRegistry:
    folder = metrics_folder()
    if folder is None:
        return REGISTRY
    if not folder.is_dir():
        raise ConfigurationError("PROMETHEUS_MULTIPROC_DIR names no folder. Make it, empty, before each start.")
    registry = CollectorRegistry()
    registry.register(_LivingProcesses(folder))
    return registry


class _LivingProcesses:
    """Puts together what all processes of a folder counted, and what those that live have."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._all = MultiProcessCollector(None, path=str(folder))  # type: ignore[no-untyped-call]  # it has no types

    def collect(self) -> Iterable[Metric]:
        """Return the metrics. Of a process that was killed nobody else takes the gauges away."""
        for pid in {int(path.stem.rpartition("_")[2]) for path in self._folder.glob("gauge_live*_*.db")}:
            if not _lives(pid):
                with suppress(FileNotFoundError):  # somebody else asks at the same time
                    mark_process_dead(pid, path=str(self._folder))  # type: ignore[no-untyped-call]  # as above
        metrics: Iterable[Metric] = self._all.collect()  # type: ignore[no-untyped-call]  # as above
        return metrics


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _SharedServer(_Server):
    allow_reuse_port = True


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of a scrape."""
