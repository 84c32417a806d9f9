"""The official suite, over Postgres: as it is, and with the scratch tier forgotten before every call."""

import pytest
from langgraph.checkpoint.conformance.initializer import checkpointer_test
from langgraph.checkpoint.conformance.validate import validate

from discreet.checkpoint import RedactingSaver
from discreet.testing import conformance_policy


class Forgetful(RedactingSaver):
    """Forgets its scratch tier before every call, as a process that has just started."""

    def forget(self):
        for thread_id in self._scratch.thread_ids():
            self._scratch.drop(thread_id)

    async def aget_tuple(self, config):
        self.forget()
        return await super().aget_tuple(config)

    async def alist(self, *args, **kwargs):
        self.forget()
        async for item in super().alist(*args, **kwargs):
            yield item

    async def aput(self, *args):
        self.forget()
        return await super().aput(*args)

    async def aput_writes(self, *args, **kwargs):
        self.forget()
        await super().aput_writes(*args, **kwargs)


@pytest.mark.parametrize("kind", [RedactingSaver, Forgetful])
async def test_all_capabilities_conform(kind, empty_database):
    @checkpointer_test(name=kind.__name__)
    async def saver():
        async with kind.from_conn_string(empty_database, conformance_policy()) as made:
            await made.setup()
            yield made

    report = await validate(saver)
    assert [failure for result in report.results.values() for failure in result.failures or []] == []
    assert sum(result.tests_passed for result in report.results.values()) == 81
