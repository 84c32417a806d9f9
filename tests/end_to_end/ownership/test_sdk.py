"""Whether every call of LangGraph's SDK leaves somebody else's things alone."""

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import LangGraphError
from ownership_battery.sdk_calls import CALLS, ENDS
from ownership_battery.things import all_of

PARTS = ("threads", "runs", "assistants", "crons", "store")


def test_every_call_of_the_sdk_is_in_the_table():
    client = get_client(url="http://127.0.0.1:1", api_key=None)
    parts = {name for name in vars(client) if not name.startswith("_")} - {"http"}
    assert parts == set(PARTS)
    calls = {
        f"{part}.{name}"
        for part in PARTS
        for name in dir(type(getattr(client, part)))
        if not name.startswith("_") and callable(getattr(type(getattr(client, part)), name))
    }
    assert calls - CALLS.keys() == set(), "These are not tested: put them into ownership_battery/sdk_calls.py"
    assert CALLS.keys() - calls == set(), "The SDK has these no longer"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("call", CALLS)
async def test_no_call_gets_at_what_is_somebody_elses(ownership_server, ann, things, call):
    end, make = CALLS[call]
    before = await all_of(ann, things)
    headers = ownership_server.headers("bob@example.com")
    async with get_client(url=ownership_server.url, headers=headers, api_key=None) as client:
        if end is ENDS:
            with pytest.raises((LangGraphError, httpx.HTTPStatusError)) as caught:
                await make(client, things)
            said = str(caught.value)
            assert things.word not in said
        else:
            said = str(await make(client, things))
            mine = {things.thread_id, things.run_id}  # which Bob has named
            assert {secret for secret in things.secrets() - mine if secret in said} == set()
    assert await all_of(ann, things) == before
