"""Background memory at work: sessions that are due, prompts made of them, batches, and what their answers come to."""

from discreet.worker.providers import BatchProviders
from discreet.worker.triggers import due
from discreet.worker.worker import Worker

__all__ = ["BatchProviders", "Worker", "due"]
