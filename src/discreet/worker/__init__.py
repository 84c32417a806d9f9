"""Background memory at work: sessions that are due, prompts made of them, batches, and what their answers come to."""

from discreet.worker.beside import make_worker, worker_beside
from discreet.worker.providers import BatchProviders
from discreet.worker.triggers import due
from discreet.worker.worker import Pass, Worker

__all__ = ["BatchProviders", "Pass", "Worker", "due", "make_worker", "worker_beside"]
