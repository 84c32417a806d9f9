"""A DSN that says verify-full has the server verified: its authority, and its name."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from testkit.certificates import Authority
from testkit.tls import installed_postgres, tls_before, tls_postgres

from discreet.driver_errors import storage_errors
from discreet.errors import UnverifiedServerError
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting.connection import connect
from discreet.testing import StubEmbeddings

pytestmark = [
    pytest.mark.direct("speaks TLS to the server itself"),
    pytest.mark.one_server("puts a layer that speaks it before the tests' own server"),
]


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
async def dsn(database, authority):
    """Return the DSN of a new migrated database by way of a layer whose certificate is for 127.0.0.1, without TLS parameters."""
    async with tls_before(database, *authority.certify("127.0.0.1")) as port:
        given = {name: value for name, value in conninfo_to_dict(database).items() if name not in ("host", "port")}
        yield make_conninfo(**given, host="127.0.0.1", port=str(port), gssencmode="disable")


def of(dsn, **parameters):
    return make_conninfo(dsn, **parameters)


async def connected(dsn):
    """Return whether the connection speaks TLS."""
    with storage_errors():
        async with await connect(dsn) as conn:
            return conn.pgconn.ssl_in_use


async def test_a_server_whose_authority_is_named_is_used(dsn, authority):
    verified = of(dsn, sslmode="verify-full", sslrootcert=str(authority.certificate))
    assert await connected(verified)
    async with open_storage(verified, embeddings=StubEmbeddings(dims=16)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        assert [record.text for record in await storage.memories.latest("ann")] == ["Keeps parrots"]


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
async def test_a_server_of_another_authority_is_refused_and_the_message_says_what_to_do(dsn, tmp_path, mode):
    other = Authority(tmp_path, "other")
    with pytest.raises(UnverifiedServerError, match="sslrootcert="):
        await connected(of(dsn, sslmode=mode, sslrootcert=str(other.certificate)))
    with pytest.raises(UnverifiedServerError, match="sslrootcert="):
        async with open_storage(of(dsn, sslmode=mode, sslrootcert=str(other.certificate))):
            pass


async def test_a_server_by_another_name_is_refused_and_the_message_says_what_to_do(dsn, authority):
    elsewhere = of(dsn, host="localhost", hostaddr="127.0.0.1", sslrootcert=str(authority.certificate))
    with pytest.raises(UnverifiedServerError, match="host name"):
        await connected(of(elsewhere, sslmode="verify-full"))
    assert await connected(of(elsewhere, sslmode="verify-ca"))  # which looks at the authority alone


async def test_without_the_authoritys_certificate_nobody_is_verified_and_the_message_says_so(dsn, tmp_path):
    with pytest.raises(UnverifiedServerError, match="sslrootcert="):
        await connected(of(dsn, sslmode="verify-full", sslrootcert=str(tmp_path / "none.pem")))


async def test_a_server_without_tls_is_refused(database, authority, relay):
    with pytest.raises(UnverifiedServerError, match="does not speak TLS"):
        await connected(of(relay.dsn, sslmode="verify-full", sslrootcert=str(authority.certificate)))


@pytest.mark.slow
async def test_a_server_that_speaks_tls_by_itself(authority, tmp_path):
    if (programs := installed_postgres()) is None:
        pytest.skip("no PostgreSQL that speaks TLS is installed (Debian: apt-get install postgresql)")
    with tls_postgres(programs, *authority.certify("127.0.0.1")) as port:
        dsn = f"postgresql://ann@127.0.0.1:{port}/postgres?gssencmode=disable"
        mine, other = authority.certificate, Authority(tmp_path, "other").certificate
        assert await connected(of(dsn, sslmode="verify-full", sslrootcert=str(mine)))
        with pytest.raises(UnverifiedServerError, match="sslrootcert="):
            await connected(of(dsn, sslmode="verify-full", sslrootcert=str(other)))
        with pytest.raises(UnverifiedServerError, match="host name"):
            await connected(
                of(dsn, host="localhost", hostaddr="127.0.0.1", sslmode="verify-full", sslrootcert=str(mine))
            )
