"""Whom a request comes from, and who may say so."""

import pytest

from discreet.access.proxies import Origin, TrustedProxies
from discreet.errors import ConfigurationError

HERE, INNER, CLIENT, FORGED = "10.0.0.7", "10.0.0.8", "198.51.100.4", "203.0.113.9"


def forwarded(*values):
    return [("x-forwarded-for", value) for value in values]


@pytest.mark.parametrize(
    ("headers", "host", "origin"),
    [
        ([], CLIENT, Origin(CLIENT, False)),
        ([], "::ffff:198.51.100.4", Origin(CLIENT, False)),
        ([], "2001:db8:1:2:3::4", Origin("2001:db8:1:2::/64", False)),
        ([], None, Origin("unknown", True)),
        ([], "testclient", Origin("unknown", True)),
        ([], HERE, Origin(HERE, True)),
        (forwarded(CLIENT), HERE, Origin(CLIENT, False)),
        (forwarded(f"{FORGED}, {CLIENT}"), HERE, Origin(CLIENT, False)),
        (forwarded(FORGED, CLIENT), HERE, Origin(CLIENT, False)),
        (forwarded(f"{FORGED}, {CLIENT}, {INNER}"), HERE, Origin(CLIENT, False)),
        (forwarded("nonsense"), HERE, Origin("unknown", True)),
        (forwarded(INNER), HERE, Origin(INNER, True)),
        (forwarded(""), HERE, Origin("unknown", True)),
    ],
)
def test_what_a_trusted_proxy_adds_is_believed_and_nothing_to_the_left_of_it(headers, host, origin):
    assert TrustedProxies(["10.0.0.0/8", "fd00::/8"]).origin(headers, host) == origin


@pytest.mark.parametrize("name", ["x-forwarded-for", "forwarded", "x-real-ip"])
def test_behind_somebody_who_is_not_trusted_it_is_a_shared_address(name):
    assert TrustedProxies().origin([(name, FORGED)], HERE) == Origin(HERE, True)


def test_an_entry_that_is_no_network_is_refused_by_its_number():
    with pytest.raises(ConfigurationError, match="Entry 2 of DISCREET_TRUSTED_PROXIES") as caught:
        TrustedProxies(["10.0.0.1", "proxy.internal"])
    assert "proxy.internal" not in str(caught.value)
