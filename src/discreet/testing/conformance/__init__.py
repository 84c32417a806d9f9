"""What an adapter of yours has to do to serve as one of ours: the rules of a port, one check each.

Each check takes an adapter that is open, makes up people of its own and removes what it stored, so that it may run against a server
that is in use. All that it needs is an event loop:

    await check_secret_store(MySecretStore())

or, for a result each, `@pytest.mark.parametrize("check", SECRET_STORE_CHECKS)`.
"""

from discreet.testing.conformance.keys import (
    KEY_PROVIDER_CHECKS,
    KEY_WRAPPER_CHECKS,
    check_key_provider,
    check_key_wrapper,
)
from discreet.testing.conformance.rules import ConformanceError
from discreet.testing.conformance.secret_stores import SECRET_STORE_CHECKS, check_secret_store
from discreet.testing.conformance.vector_stores import VECTOR_STORE_CHECKS, check_vector_store

__all__ = [
    "KEY_PROVIDER_CHECKS",
    "KEY_WRAPPER_CHECKS",
    "SECRET_STORE_CHECKS",
    "VECTOR_STORE_CHECKS",
    "ConformanceError",
    "check_key_provider",
    "check_key_wrapper",
    "check_secret_store",
    "check_vector_store",
]
