import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.access.api_keys import make_api_key
from discreet.access.authenticator import MAX_CREDENTIAL_CHARS
from discreet.access.development import make_token
from discreet.errors import ConfigurationError, UnauthorisedError

HERE = "127.0.0.1"


def bearer(credentials):
    return {"authorization": f"Bearer {credentials}"}


async def refusal(authenticator, headers, host=HERE):
    with pytest.raises(UnauthorisedError) as caught:
        await authenticator.caller(headers, host)
    return str(caught.value)


async def test_a_token_names_its_subject_and_the_database_knows_an_identity(make_authenticator, secret):
    authenticator = make_authenticator(jwt_secret=secret)
    caller = await authenticator.caller(bearer(make_token(secret, "ann@example.com")), "203.0.113.7")
    assert (caller.subject, caller.admin, caller.names_users) == ("ann@example.com", False, False)
    assert caller.identity == authenticator.identity("ann@example.com")
    assert "ann" not in caller.identity


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_scheme_may_be_written_in_any_case(make_authenticator, secret, scheme):
    headers = {"authorization": f"{scheme}   {make_token(secret, 'ann')} "}
    assert (await make_authenticator(jwt_secret=secret).caller(headers, None)).subject == "ann"


@pytest.mark.parametrize("header", ["x-api-key", "bearer"])
@pytest.mark.parametrize("subject", ["ann", "team:ops:ann", "Анна", "小红"])
async def test_an_api_key_names_its_subject(make_authenticator, header, subject):
    key, entry = make_api_key(subject)
    other_key, other_entry = make_api_key("somebody")
    authenticator = make_authenticator(api_keys=(other_entry, entry))
    headers = bearer(key) if header == "bearer" else {header: key}
    assert (await authenticator.caller(headers, None)).subject == subject
    assert (await authenticator.caller({"x-api-key": other_key}, None)).subject == "somebody"


async def test_a_key_and_a_token_of_one_subject_are_one_person(make_authenticator, secret):
    key, entry = make_api_key("ann")
    authenticator = make_authenticator(jwt_secret=secret, api_keys=(entry,))
    by_key = await authenticator.caller({"x-api-key": key}, None)
    by_token = await authenticator.caller(bearer(make_token(secret, "ann")), None)
    assert by_key == by_token


async def test_authorization_comes_before_a_key_that_the_sdk_found_in_its_environment(make_authenticator, secret):
    authenticator = make_authenticator(jwt_secret=secret)
    headers = {**bearer(make_token(secret, "ann")), "x-api-key": "of another service"}
    assert (await authenticator.caller(headers, None)).subject == "ann"


async def test_administrators_are_named_by_the_settings_or_by_their_token(make_authenticator, secret):
    key, entry = make_api_key("ops")
    authenticator = make_authenticator(jwt_secret=secret, api_keys=(entry,), admins=("root", "ops"))
    assert (await authenticator.caller(bearer(make_token(secret, "root")), None)).admin
    assert (await authenticator.caller({"x-api-key": key}, None)).admin
    assert (await authenticator.caller(bearer(make_token(secret, "ann", admin=True)), None)).admin
    assert not (await authenticator.caller(bearer(make_token(secret, "ann")), None)).admin


async def test_with_nothing_configured_everybody_is_refused_and_told_what_to_set(make_authenticator):
    authenticator = make_authenticator()
    for headers in ({}, bearer("anything")):
        assert "DISCREET_JWT_SECRET, DISCREET_JWKS_URL or DISCREET_API_KEYS" in await refusal(authenticator, headers)


async def test_without_credentials_one_is_told_how_to_send_them(make_authenticator, secret):
    assert "Authorization: Bearer" in await refusal(make_authenticator(jwt_secret=secret), {})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
async def test_anonymous_is_taken_from_this_machine_if_a_setting_says_so(make_authenticator, host):
    caller = await make_authenticator(allow_anonymous=True).caller({"host": "localhost:2024"}, host)
    assert (caller.subject, caller.names_users, caller.admin) == ("anonymous", True, True)


async def test_where_others_have_tokens_anonymous_is_one_user_and_no_more(make_authenticator, secret):
    authenticator = make_authenticator(allow_anonymous=True, jwt_secret=secret)
    caller = await authenticator.caller({}, HERE)
    assert (caller.names_users, caller.admin) == (False, False)


@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1", "2001:db8::1", "testclient", "localhost", "", None, "127.1"])
async def test_anonymous_is_refused_from_anywhere_else(make_authenticator, host):
    assert "this machine" in await refusal(make_authenticator(allow_anonymous=True), {}, host)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-for": "192.0.2.1"},
        {"forwarded": "for=192.0.2.1"},
        {"host": "rebound.example.com:2024"},
        {"host": "something.trycloudflare.com"},
        {"host": "localhost.example.com"},
        {"host": "[::1"},
        {"host": "127.0.0.1:2024", "origin": "https://page.example.com"},
        {"host": "127.0.0.1:2024", "origin": "null"},
    ],
)
async def test_anonymous_is_refused_through_a_proxy_a_tunnel_or_a_page_from_elsewhere(make_authenticator, headers):
    assert "this machine" in await refusal(make_authenticator(allow_anonymous=True), headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic YW5uOmFubg=="},
        {"authorization": "Bearer"},
        {"x-api-key": "wrong"},
    ],
)
async def test_wrong_credentials_are_refused_even_where_none_are_needed(make_authenticator, headers):
    await refusal(make_authenticator(allow_anonymous=True), headers)


@pytest.mark.parametrize("name", ["anonymous", "studio"])
async def test_no_token_and_no_key_names_somebody_built_in(make_authenticator, secret, name):
    with pytest.raises(UnauthorisedError, match="reserved"):
        make_token(secret, name)
    with pytest.raises(ConfigurationError, match="reserved"):
        make_authenticator(api_keys=(f"{name}:{'0' * 64}",))


async def test_large_credentials_are_not_read(make_authenticator, secret, monkeypatch):
    authenticator = make_authenticator(jwt_secret=secret)
    monkeypatch.setattr("jwt.get_unverified_header", lambda _: pytest.fail("read"))
    for headers in (bearer("a" * 1_000_000), {"x-api-key": "a" * 1_000_000}):
        assert f"{MAX_CREDENTIAL_CHARS:,}" in await refusal(authenticator, headers)


@pytest.mark.parametrize(
    "entry", ["", "ann", "ann:", f":{'0' * 64}", f"ann:{'0' * 63}", f"ann:{'G' * 64}", f"\n:{'0' * 64}"]
)
def test_an_entry_that_is_none_is_refused_by_its_number_and_not_quoted(make_authenticator, entry):
    _, good = make_api_key("bob")
    with pytest.raises(ConfigurationError, match="Entry 2") as caught:
        make_authenticator(api_keys=(good, entry))
    assert "ann" not in str(caught.value)


def test_one_key_is_not_two_peoples(make_authenticator):
    _, entry = make_api_key("ann")
    with pytest.raises(ConfigurationError, match="Entry 2"):
        make_authenticator(api_keys=(entry, entry.replace("ann", "bob")))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    headers=st.dictionaries(
        st.sampled_from(["authorization", "x-api-key", "host", "origin", "forwarded"]),
        st.text(max_size=40) | st.text(max_size=40).map(lambda text: f"Bearer {text}"),
    )
)
async def test_whatever_is_sent_instead_of_credentials_is_refused(make_authenticator, headers):
    _, entry = make_api_key("ann")
    authenticator = make_authenticator(jwt_secret="s" * 32, api_keys=(entry,))
    await refusal(authenticator, headers)
