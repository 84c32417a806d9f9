import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import IbanRecogniser

REDACTOR = Redactor(recognisers=[IbanRecogniser()])


@pytest.mark.parametrize(
    "iban",
    [  # examples of the IBAN registry
        "DE89370400440532013000",
        "GB29NWBK60161331926819",
        "FR1420041010050500013M02606",
        "NO9386011117947",
        "MT84MALT011000012345MTLCAST001S",
        "IT60X0542811101000000123456",
        "NL91ABNA0417164300",
        "PL61109010140000071219812874",
        "ES9121000418450200051332",
        "SA0380000000608010167519",
    ],
)
@pytest.mark.parametrize("group", [34, 4, 1])
def test_every_country_is_found_in_groups_and_spaced_out(iban, group):
    written = " ".join(iban[at : at + group] for at in range(0, len(iban), group))
    assert REDACTOR.redact(f"({written}) thanks") == "(<IBAN>) thanks"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gb29nwbk60161331926819", "<IBAN>"),
        ("GB29-NWBK-6016-1331-9268-19", "<IBAN>"),
        ("DE89\n3704\n0044\n0532\n0130\n00", "<IBAN>"),
        ("IBAN是DE89370400440532013000請匯款", "IBAN是<IBAN>請匯款"),
        ("IBANDE89370400440532013000", "IBAN<IBAN>"),
        ("DE89 3704 0044 0532 0130 00 thanks", "<IBAN> thanks"),
        ("no 12 34 DE89 3704 0044 0532 0130 00", "no 12 34 <IBAN>"),
        ("DE88 3704 0044 0532 0130 00", "<IBAN>"),  # wrong check digits, in groups
        ("transfer to DE88370400440532013000", "transfer to <IBAN>"),
        ("tài khoản DE88370400440532013000 nhé", "tài khoản <IBAN> nhé"),
        ("счёт DE88370400440532013000", "счёт <IBAN>"),
        ("帳號DE88370400440532013000", "帳號<IBAN>"),
        ("IBAN transfer to GB28ABCD60314028 today", "IBAN transfer to <IBAN> today"),  # too short
    ],
)
def test_ibans_are_found_in_every_shape(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "DE88370400440532013000",  # wrong check digits, nothing speaks for it
        "XX89370400440532013000",
        "order DE8937040044053201300",
        "model AB12 CD34 EF56",
        "IBAN is an account number",
        "is 12 of 34 enough",
    ],
)
def test_other_codes_stay(text):
    assert REDACTOR.redact(text) == text
