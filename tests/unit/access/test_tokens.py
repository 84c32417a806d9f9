import base64
import json
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from discreet.access.development import make_token
from discreet.errors import ConfigurationError, UnauthorisedError


def claims(**values):
    return {"sub": "ann", "exp": datetime.now(UTC) + timedelta(hours=1), **values}


async def subject(authenticator, token):
    return (await authenticator.caller({"authorization": f"Bearer {token}"}, None)).subject


async def refusal(authenticator, token):
    with pytest.raises(UnauthorisedError) as caught:
        await subject(authenticator, token)
    return str(caught.value)


def encoded(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def private_keys():
    return {
        "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }


@pytest.fixture
def published(key_server, private_keys):
    """A server with the public key of each algorithm, by whose name it is called."""
    algorithms = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}
    for name, key in private_keys.items():
        jwk = json.loads(algorithms[name].to_jwk(key.public_key()))
        key_server.keys.append({**jwk, "kid": name, "use": "sig", "alg": name})
    return key_server


def signed(private_keys, algorithm, key_id=None, **values):
    return jwt.encode(claims(**values), private_keys[algorithm], algorithm, headers={"kid": key_id or algorithm})


async def test_a_token_is_good_until_it_expires_and_half_a_minute_more(make_authenticator, secret):
    authenticator = make_authenticator(jwt_secret=secret)
    assert await subject(authenticator, make_token(secret, "ann", ttl=timedelta(seconds=-20))) == "ann"
    assert "expired" in await refusal(authenticator, make_token(secret, "ann", ttl=timedelta(seconds=-40)))


@pytest.mark.parametrize("missing", ["exp", "sub"])
async def test_a_token_without_an_end_or_a_subject_is_refused(make_authenticator, secret, missing):
    payload = {name: value for name, value in claims().items() if name != missing}
    token = jwt.encode(payload, secret, "HS256")
    assert missing in await refusal(make_authenticator(jwt_secret=secret), token)


@pytest.mark.parametrize("name", ["", " ", "\n", "a" * 201, 7, None, ["ann"], "studio", "anonymous"])
async def test_a_subject_that_can_name_nobody_is_refused(make_authenticator, secret, name):
    header, key = {"alg": "HS256", "typ": "JWT"}, secret.encode()
    signing = f"{encoded(header)}.{encoded({'sub': name, 'exp': 4_000_000_000})}"
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(signing.encode(), key)
    token = f"{signing}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    await refusal(make_authenticator(jwt_secret=secret), token)


async def test_issuer_and_audience_are_checked_if_they_are_set(make_authenticator, secret):
    authenticator = make_authenticator(jwt_secret=secret, jwt_issuer="https://issuer", jwt_audience="discreet")
    good = make_token(secret, "ann", issuer="https://issuer", audience="discreet")
    assert await subject(authenticator, good) == "ann"
    assert "audience" in await refusal(
        authenticator, make_token(secret, "ann", issuer="https://issuer", audience="other")
    )
    assert "issuer" in await refusal(
        authenticator, make_token(secret, "ann", issuer="https://other", audience="discreet")
    )
    assert "claim" in await refusal(authenticator, make_token(secret, "ann", issuer="https://issuer"))
    assert "claim" in await refusal(authenticator, make_token(secret, "ann", audience="discreet"))
    assert await subject(make_authenticator(jwt_secret=secret), good) == "ann"


async def test_a_token_signed_by_somebody_else_is_refused(make_authenticator, secret):
    assert "not valid" in await refusal(make_authenticator(jwt_secret=secret), make_token("other" * 8, "ann"))


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, "HS512", "HS384", {}, ["HS256"]])
async def test_no_signature_or_another_algorithm_is_refused(make_authenticator, published, secret, algorithm):
    authenticator = make_authenticator(jwt_secret=secret, jwks_url=published.url)
    unsigned = f"{encoded({'alg': algorithm, 'typ': 'JWT', 'kid': 'RS256'})}.{encoded({'sub': 'ann', 'exp': 4e9})}."
    await refusal(authenticator, unsigned)
    if algorithm in ("HS384", "HS512"):
        await refusal(authenticator, jwt.encode(claims(), secret * 2, algorithm))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_tokens_by_public_keys(make_authenticator, published, private_keys, secret, algorithm):
    authenticator = make_authenticator(jwt_secret=secret, jwks_url=published.url)
    assert await subject(authenticator, signed(private_keys, algorithm)) == "ann"
    assert await subject(authenticator, make_token(secret, "bob")) == "bob"
    assert await subject(authenticator, signed(private_keys, algorithm)) == "ann"
    assert published.asked == 1


@pytest.mark.parametrize("form", ["pem", "der", "jwk"])
async def test_a_public_key_is_never_a_secret(make_authenticator, published, private_keys, form):
    public = private_keys["RS256"].public_key()
    as_secret = {
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "jwk": json.dumps(published.keys[0]).encode(),
    }[form]
    signing = (
        f"{encoded({'alg': 'HS256', 'typ': 'JWT', 'kid': 'RS256'})}.{encoded({'sub': 'ann', 'exp': 4_000_000_000})}"
    )
    hmac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = base64.urlsafe_b64encode(hmac.sign(signing.encode(), as_secret)).rstrip(b"=").decode()
    for settings_ in ({}, {"jwt_secret": "s" * 32}):
        authenticator = make_authenticator(jwks_url=published.url, **settings_)
        assert "not valid" in await refusal(authenticator, f"{signing}.{signature}")


async def test_a_secret_among_the_public_keys_is_not_taken(make_authenticator, key_server):
    symmetric = base64.urlsafe_b64encode(b"s" * 32).decode().rstrip("=")
    key_server.keys.append({"kty": "oct", "k": symmetric, "kid": "1", "alg": "HS256", "use": "sig"})
    token = jwt.encode(claims(), "s" * 32, "HS256", headers={"kid": "1"})
    await refusal(make_authenticator(jwks_url=key_server.url), token)


@pytest.mark.parametrize(("said", "signed_by"), [("RS256", "ES256"), ("ES256", "RS256"), ("EdDSA", "ES256")])
async def test_the_algorithm_of_a_token_must_be_that_of_its_key(
    make_authenticator, published, private_keys, said, signed_by
):
    token = signed(private_keys, said, key_id=signed_by)
    await refusal(make_authenticator(jwks_url=published.url), token)


async def test_invented_key_ids_make_no_flood_of_requests(make_authenticator, published, private_keys):
    authenticator = make_authenticator(jwks_url=published.url)
    for number in range(20):
        assert "publish" in await refusal(authenticator, signed(private_keys, "ES256", key_id=f"invented-{number}"))
    assert published.asked == 1


async def test_while_the_keys_cant_be_fetched_nobody_is_let_in(make_authenticator, published, private_keys):
    published.broken = True
    authenticator = make_authenticator(jwks_url=published.url)
    for _ in range(5):
        assert "fetched" in await refusal(authenticator, signed(private_keys, "ES256"))
    assert published.asked == 1


async def test_a_short_secret_is_refused_at_the_start(make_authenticator):
    with pytest.raises(ConfigurationError, match="32 bytes"):
        make_authenticator(jwt_secret="s" * 31)


@pytest.mark.parametrize("url", ["http://issuer.example.com/keys", "file:///etc/passwd", "ftp://127.0.0.1/x", "keys"])
async def test_keys_are_fetched_by_https_or_on_this_machine(make_authenticator, url):
    with pytest.raises(ConfigurationError, match="https"):
        make_authenticator(jwks_url=url)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "alg": st.sampled_from(["HS256", "RS256", "ES256", "EdDSA", "none"]) | JSON,
        "kid": st.sampled_from(["RS256", "ES256"]) | JSON,
        "crit": JSON,
        "b64": JSON,
        "jwk": JSON,
        "jku": st.just("http://127.0.0.1:1/"),
    },
)
PART = st.text(alphabet="abcXYZ019-_=.", max_size=30)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(header=HEADERS | JSON, payload=JSON, signature=PART, broken=st.none() | PART)
async def test_a_malformed_token_is_refused_and_nothing_else(make_authenticator, header, payload, signature, broken):
    authenticator = make_authenticator(jwt_secret="s" * 32)
    await refusal(authenticator, f"{broken or encoded(header)}.{encoded(payload)}.{signature}")


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    values=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("exp", "nbf", "iat", "aud", "iss", "scope", "roles", "jti"), JSON)
    )
)
async def test_odd_claims_that_are_signed_are_an_answer_too(make_authenticator, values):
    authenticator = make_authenticator(jwt_secret="s" * 32)
    signing = f"{encoded({'alg': 'HS256', 'typ': 'JWT'})}.{encoded({'sub': 'ann', 'exp': 4_000_000_000, **values})}"
    hmac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = base64.urlsafe_b64encode(hmac.sign(signing.encode(), b"s" * 32)).rstrip(b"=").decode()
    try:
        assert await subject(authenticator, f"{signing}.{signature}") == "ann"
    except UnauthorisedError:
        assert values


async def test_json_nested_too_deep_is_refused(make_authenticator):
    deep = base64.urlsafe_b64encode(b"[" * 4_000).rstrip(b"=").decode()
    await refusal(make_authenticator(jwt_secret="s" * 32), f"{deep}.e30.x")
