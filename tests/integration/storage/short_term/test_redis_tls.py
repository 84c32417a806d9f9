"""rediss:// means that the server is verified: a real TLS listener in front of the server, and a server that speaks TLS itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import ssl
from urllib.parse import urlsplit

import pytest
from testkit.certificates import Authority
from testkit.tls import tls_redis

from discreet.errors import UnverifiedRedisError
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.short_term.redis_store import RedisShortTermStore
from discreet.testing import InMemoryKeys

REDIS_SERVER = os.environ.get("DISCREET_TEST_REDIS_SERVER") or shutil.which("redis-server")


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture(params=["layer", "server"])
async def tls_port(request, authority, tmp_path):
    """Return the port of a server that speaks TLS; its certificate is for 127.0.0.1."""
    certificate, key = authority.certify("127.0.0.1")
    if request.param == "server":
        if REDIS_SERVER is None:
            pytest.skip("no redis-server is installed; the one of the tests doesn't speak TLS")
        with tls_redis(REDIS_SERVER, certificate, key, tmp_path) as port:
            yield port
        return
    redis_port = urlsplit(request.getfixturevalue("redis_url")).port
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def serve(reader, writer):
        there = await asyncio.open_connection("127.0.0.1", redis_port)
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def copy(reader, writer):
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()
    writer.close()


async def touched(url):
    store = RedisShortTermStore(url, redactor=None, sealer=FieldSealer(InMemoryKeys()))
    try:
        await store.touch("ann", "1")
        return await store.session_state("ann", "1")
    finally:
        await store.close()


async def test_a_server_whose_authority_is_named_is_used(tls_port, authority):
    assert await touched(f"rediss://127.0.0.1:{tls_port}/0?ssl_ca_certs={authority.certificate}") == "ACTIVE"


async def test_a_server_that_nobody_vouches_for_is_refused_and_the_message_says_what_to_do(tls_port, tmp_path):
    other = Authority(tmp_path, "other").certificate
    for url in (f"rediss://127.0.0.1:{tls_port}/0", f"rediss://127.0.0.1:{tls_port}/0?ssl_ca_certs={other}"):
        with pytest.raises(UnverifiedRedisError, match="ssl_ca_certs="):
            await touched(url)


async def test_a_server_by_another_name_is_refused(tls_port, authority):
    with pytest.raises(UnverifiedRedisError, match="the host as its certificate does"):
        await touched(f"rediss://localhost:{tls_port}/0?ssl_ca_certs={authority.certificate}")
