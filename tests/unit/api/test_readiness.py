"""A server's own readiness check says no while our database is down, and its liveness check doesn't ask."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from discreet.api.readiness import Readiness


async def fine(_request):
    return JSONResponse({"ok": True})


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize(("path", "asks"), [("/ok", False), ("/ok?check_db=0", False), ("/ok?check_db=1", True)])
async def test_only_the_readiness_check_asks_our_database(path, asks, ready):
    asked = []

    async def is_ready():
        asked.append(1)
        return ready

    app = Readiness(Starlette(routes=[Route("/ok", fine)]), is_ready=is_ready)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as client:
        answer = await client.get(path)
    assert answer.status_code == (503 if asks and not ready else 200)
    assert answer.json() == {"ok": answer.status_code == 200}
    assert len(asked) == asks
