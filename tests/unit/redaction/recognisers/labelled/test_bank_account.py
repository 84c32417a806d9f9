import random

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import BankAccountRecogniser

REDACTOR = Redactor(recognisers=[BankAccountRecogniser()])
CHANCE = random.Random("bank accounts")


def account(digits):
    return str(CHANCE.randrange(10 ** (digits - 1), 10**digits))


@pytest.mark.parametrize(
    ("text", "digits"),
    [  # as many digits as banks of the country give
        ("my account number is {}, at Barclays", 8),
        ("acct no: {}", 12),
        ("send it to the bank account {}", 10),
        ("stk {} Vietcombank nhé", 13),
        ("số tài khoản của em là {}", 10),
        ("so tai khoan {}", 14),
        ("р/с {} в Сбербанке", 20),
        ("номер счёта: {}", 20),
        ("账号： {}", 19),
        ("我的帳號是{}", 12),
        ("Kontonummer {}", 10),
        ("numéro de compte : {}", 11),
        ("número de cuenta: {}", 10),
        ("numero di conto {}", 12),
        ("número da conta é {}", 8),
        ("rekeningnummer {}", 9),
        ("numer konta: {}", 10),
        ("hesap numarası {}", 10),
        ("nomor rekening saya {}", 10),
        ("رقم الحساب {}", 12),
        ("खाता संख्या {} है", 11),
        ("口座番号は{}です", 7),
        ("계좌번호 {}", 12),
        ("เลขบัญชี {}", 10),
    ],
)
def test_numbers_behind_a_word_for_an_account_are_found(text, digits):
    assert REDACTOR.redact(text.format(account(digits))) == text.format("<BANK_ACCOUNT>")


@pytest.mark.parametrize(
    ("number", "rest"), [("1234-5678-90", ""), ("12 3456 7890", ""), ("123456789/01", ""), ("31926819", ".")]
)
def test_numbers_in_groups_and_with_the_code_of_a_bank_are_found(number, rest):
    assert REDACTOR.redact(f"account number: {number}{rest}") == f"account number: <BANK_ACCOUNT>{rest}"


def test_a_number_on_the_line_below_its_label_is_found():
    number = account(10)
    assert REDACTOR.redact(f"Account number:\n{number}\nSort code below") == (
        "Account number:\n<BANK_ACCOUNT>\nSort code below"
    )


@pytest.mark.parametrize(
    "text",
    [
        "the account has 1500 followers",
        "account number is on the card",
        "my account shows 250000",
        "the account balance is 1,234,567.89",
        "I opened the account in 2019",
        "account number 12345",  # too short
        f"account number {'7' * 25}",  # too long
        "account number: 120000€",
        "account number 123456.78",
        "order 4821136650",
        "the account is fine. Order 4821136650",
        "tài khoản có 500000 đồng",
        "stk là gì vậy",
        "счёт за май 4500 ₽",
        "номер счёта неизвестен",
        "账号有3个",
        "compte 3000 abonnés",
        "rekening 250 orang",
    ],
)
def test_other_numbers_stay(text):
    assert REDACTOR.redact(text) == text
