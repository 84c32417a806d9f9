"""Ids that programs make stay as they are, wherever they stand; secrets and what is somebody's do not, under whatever name."""

import string
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.redaction import Redactor, redact
from discreet.redaction.walker import redact_object
from discreet.scanning.texts import NOTHING, Texts

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
HEX = "0123456789abcdef"


def runs(alphabet, size):
    return st.text(alphabet, min_size=size, max_size=size)


def mixed(size):
    """Return a strategy of letters of both cases and digits, with some of each as chance has it."""
    return runs(LOWER + UPPER + DIGITS, size).filter(
        lambda text: not (text.islower() or text.isupper() or text.isdigit())
    )


def joined(*parts):
    return st.tuples(*(st.just(each) if isinstance(each, str) else each for each in parts)).map("".join)


def lettered(strategy):
    """Return what has letters among its digits: of random ids all but one in a thousand have as many."""
    return strategy.filter(lambda text: sum(map(str.isalpha, text)) >= 4)


def with_digits_apart(strategy):
    """Return ids without eight digits in a row, which may be somebody's number."""
    return strategy.filter(lambda text: not any(part.isdigit() for part in zip_of(text, 8)))


def zip_of(text, size):
    bare = text.replace("-", "").replace("_", "")
    return [bare[at : at + size] for at in range(len(bare) - size + 1)]


FORMS = {
    "ULID": lettered(joined(runs("01234567", 1), runs(CROCKFORD, 25))),
    "ULID in small letters": lettered(joined(runs("01234567", 1), runs(CROCKFORD.lower(), 25))),
    "TypeID": lettered(joined("order_01", runs(CROCKFORD.lower(), 24))),
    "UUID": st.uuids().map(str),
    "UUID without hyphens": lettered(st.uuids().map(lambda made: made.hex)),
    "ObjectId": lettered(joined("6", runs(HEX, 23))),
    "MD5": lettered(runs(HEX, 32)),
    "SHA-1": lettered(runs(HEX, 40)),
    "SHA-256": lettered(runs(HEX, 64)),
    "KSUID": with_digits_apart(joined(runs("0123", 1), mixed(26))).filter(lambda text: text.upper() != text != text.lower()),
    "nanoid": with_digits_apart(runs(LOWER + UPPER + DIGITS + "_-", 21)).filter(
        lambda text: text.upper() != text != text.lower()
    ),
    "CUID": with_digits_apart(joined("c", runs(LOWER + DIGITS, 24))),
    "CUID2": with_digits_apart(joined(runs(LOWER, 1), runs(LOWER + DIGITS, 23))),
    **{
        f"{prefix} of Stripe": with_digits_apart(joined(f"{prefix}_", mixed(24)))
        for prefix in ("pi", "ch", "cus", "sub", "in", "evt", "pm", "seti", "price", "acct")
    },
    "tool call": with_digits_apart(joined("toolu_01", mixed(22))),
}  # fmt: skip
WITHIN_TEXT = [form for form in FORMS if form not in ("nanoid", "CUID2")]
NAMES = st.sampled_from(
    ["id", "order_id", "orderId", "user_id", "request.id", "order", "payment", "sha", "commit", "etag", None]
)
ID_NAMES = [
    "id",
    "ids",
    "order_id",
    "orderId",
    "UserID",
    "external-id",
    "sha256",
    "content_hash",
    "etag",
    "next_cursor",
]
SECRET_NAMES = [
    "api_key",
    "client_secret",
    "access_token",
    "password",
    "session_id",
    "sessionId",
    "token_id",
    "mật khẩu",
    "code",
    "recovery_code",
    "backup_codes",
    "verificationCode",
    "customer_access_code",
    "authorization",
    "Authorization",
    "auth",
    "bearer",
    "cookies",
    "jwt",
    "nonce",
    "signature",
    "tokens",
    "sessionid",
    "PHPSESSID",
    "JSESSIONID",
    "csrftoken",
    "accesskey",
    "clientsecret",
]
ENGINES_NAMES = ["session_id", "sessionId", "token_id"]
THINGS = [
    "country_code",
    "status_code",
    "errorCode",
    "product_code",
    "zip_code",
    "postal_codes",
    "currency_code",
    "language_code",
    "reason_code",
]
TEXTS = Texts(Redactor(placeholder_key=bytes(32)))


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_ids_of_known_forms_stay_under_any_name(form, data):
    made, name = data.draw(FORMS[form]), data.draw(NAMES)
    value = {name or "value": made, "all": [made]}
    assert redact_object(value, Redactor()) == value
    assert TEXTS.find(made, name) == NOTHING


@pytest.mark.parametrize(
    "said", ["Your order {} has shipped.", "订单 {} 已发货。", "Đơn hàng {} đã gửi.", "Заказ {} отправлен."]
)
@pytest.mark.parametrize("form", ["ULID", "KSUID", "pi of Stripe"])
def test_ids_of_known_forms_stay_within_text(form, said):
    made = {"ULID": "01HZX4" + "Q8W3N5R7T9V2B4C6D8FG", "KSUID": "2aXk9" + "QwErTy7Ui1OpAs3DfGh5Jz"}.get(form)
    made = made or "pi_" + "3MtwBwLk" + "dIwHu7ix28a3tqPa"
    assert redact(said.format(made)) == said.format(made)


@pytest.mark.parametrize(
    "said", ["The API key is {}, keep it.", "token={}", "mật khẩu là {}", "Пароль: {}", "密码是{}"]
)
def test_what_has_the_form_of_an_id_and_is_called_a_secret_is_one(said):
    made = "01HZX4" + "Q8W3N5R7T9V2B4C6D8FG"
    assert made not in redact(said.format(made))


@pytest.mark.parametrize("name", SECRET_NAMES)
@given(
    made=st.one_of(
        *(FORMS[form] for form in ("ULID", "SHA-1", "SHA-256", "UUID", "ObjectId", "tool call")),
        FORMS["nanoid"].filter(lambda made: any(map(str.isdigit, made))),
    )
)
@example(made="0" * 17 + "PW" + "00000AA")  # a word for a password within it, and digits behind that
def test_what_stands_under_the_name_of_a_secret_is_one(name, made):
    assert redact_object({name: made}, Redactor()) == {name: "<SECRET>"}
    assert redact_object({name: [made]}, Redactor()) == {name: ["<SECRET>"]}
    if name not in ENGINES_NAMES or len(made) != 36:
        assert TEXTS.find(made, name).types == ("SECRET",)
        assert TEXTS.redact(made, name) == "<SECRET>"


@pytest.mark.parametrize("name", THINGS)
@given(
    made=st.one_of(
        FORMS["ULID"], FORMS["SHA-1"], FORMS["UUID"], st.sampled_from(["VN", "404", "E-1042", "EUR", "vi-VN"])
    )
)
def test_codes_of_things_stay(name, made):
    assert redact_object({name: made}, Redactor()) == {name: made}
    assert TEXTS.find(made, name) == NOTHING


@pytest.mark.parametrize("code", ["InvalidParameterValue", "card_declined", "authentication_required", "E11000"])
def test_what_a_program_calls_a_fault_by_stays_under_code(code):
    assert redact_object({"code": code}, Redactor()) == {"code": code}
    assert TEXTS.find(code, "code") == NOTHING


@given(made=st.one_of(FORMS["ULID"], FORMS["UUID"], FORMS["ObjectId"]))
def test_the_id_of_a_user_stays_whatever_authenticated_them(made):
    assert redact_object({"langgraph_auth_user_id": made}, Redactor()) == {"langgraph_auth_user_id": made}
    assert TEXTS.find(made, "langgraph_auth_user_id") == NOTHING


@pytest.mark.parametrize("name", ["session_id", "key_id"])
@given(made=FORMS["UUID"])
def test_a_scrub_leaves_uuids_of_sessions_and_keys(name, made):
    assert TEXTS.find(made, name) == NOTHING


@pytest.mark.parametrize("name", ID_NAMES)
@pytest.mark.parametrize(
    "made", ["q7RfX2mZ9bKwT4nV8cLpJ3sYh5Gd", "2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "auth0|65f1c0d2e4b7a8f9c0d1e2f3"]
)
def test_what_looks_random_under_the_name_of_an_id_is_one(name, made):
    assert redact_object({name: made}, Redactor()) == {name: made}
    assert TEXTS.find(made, name) == NOTHING


@pytest.mark.parametrize("name", [*ID_NAMES, "hash", "file_hash", "ETag"])
@pytest.mark.parametrize("form", ['"{}"', 'W/"{}"', '"{}-12"'])
@given(made=st.one_of(FORMS["MD5"], FORMS["SHA-1"]))
def test_an_etag_as_a_header_has_it_is_an_id_by_its_name(name, form, made):
    etag = form.format(made)
    assert redact_object({name: etag}, Redactor()) == {name: etag}
    assert TEXTS.find(etag, name) == NOTHING


@pytest.mark.parametrize("name", ID_NAMES)
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("ann@example.com", "EMAIL"),
        ("+84 912 345 678", "PHONE"),
        ("4111111111111111", "CARD"),
        ("DE89370400440532013000", "IBAN"),
        ("be68539007547034", "IBAN"),
        ("AK" + "IA" + "Q3EGRR7XKPLM2VBN", "SECRET"),
        ("sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc", "SECRET"),
        ('"' + "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a" + '"', "SECRET"),
        ("gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a", "SECRET"),
        ("pi_3MtwBwLk" + "dIwHu7ix28a3tqPa_secret_" + "YrKJUKribcBjcG8HVhfZluoGH", "SECRET"),
    ],
)
def test_what_is_somebodys_or_a_key_by_its_form_goes_under_the_name_of_an_id(name, value, found):
    if found == "SECRET" and "_secret_" in value:
        name = "payment"
    assert TEXTS.find(value, name).types == (found,)
    assert value not in str(redact_object({name: value}, Redactor()))


@pytest.mark.parametrize("name", ["employee_id", "patient_id", "passport_id"])
def test_numbers_that_organisations_give_people_go(name):
    assert redact_object({name: "E-20417"}, Redactor()) != {name: "E-20417"}


def test_a_snowflake_is_an_id_by_its_name():
    value = {"order_id": "175928847299117063", "channelId": "1081930374185127936"}
    assert redact_object(value, Redactor()) == value
    assert redact_object({"national_id": "110105194912310021"}, Redactor()) == {"national_id": "<NATIONAL_ID>"}


def test_a_name_that_is_none_says_nothing():
    made = "q7RfX2mZ9bKwT4nV8cLpJ3sYh5Gd"
    assert redact_object({"x " * 200 + "id": made}, Redactor()) == {"x " * 200 + "id": "<SECRET>"}


def test_a_uuid_object_stays():
    assert redact_object({"user_id": UUID(int=5, version=4)}, Redactor()) == {"user_id": UUID(int=5, version=4)}


@pytest.mark.parametrize("name", ["password", "api_key", "access_token"])
def test_a_secret_of_which_a_part_is_found_alone_is_one_as_a_whole(name):
    made = "abc-pw-" + "99887766"
    assert redact_object({name: made}, Redactor()) == {name: "<SECRET>"}
    assert TEXTS.redact(made, name) == "<SECRET>"
