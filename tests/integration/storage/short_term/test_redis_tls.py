"""rediss:// means that the server is verified: a real TLS listener in front of the server."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from discreet.errors import ShortTermError
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.short_term.redis_store import RedisShortTermStore
from discreet.testing import InMemoryKeys


@pytest.fixture
async def tls_port(redis_url, tmp_path):
    """Return the port of a listener that hands what it decrypts on; its certificate is tmp_path/server.pem."""
    certify(tmp_path / "server.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server.pem")

    async def serve(reader, writer):
        there = await asyncio.open_connection("127.0.0.1", urlsplit(redis_url).port)
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def copy(reader, writer):
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()
    writer.close()


def certify(path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + certificate.public_bytes(Encoding.PEM))


async def touched(url):
    store = RedisShortTermStore(url, redactor=None, sealer=FieldSealer(InMemoryKeys()))
    try:
        await store.touch("ann", "1")
        return await store.session_state("ann", "1")
    finally:
        await store.close()


async def test_a_server_whose_authority_is_named_is_used(tls_port, tmp_path):
    assert await touched(f"rediss://127.0.0.1:{tls_port}/0?ssl_ca_certs={tmp_path / 'server.pem'}") == "ACTIVE"


async def test_a_server_that_nobody_vouches_for_is_refused(tls_port):
    with pytest.raises(ShortTermError):
        await touched(f"rediss://127.0.0.1:{tls_port}/0")


async def test_a_server_by_another_name_is_refused(tls_port, tmp_path):
    with pytest.raises(ShortTermError):
        await touched(f"rediss://localhost:{tls_port}/0?ssl_ca_certs={tmp_path / 'server.pem'}")
