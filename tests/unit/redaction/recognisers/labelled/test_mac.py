import random

import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import MacRecogniser

REDACTOR = Redactor(recognisers=[MacRecogniser()])
CHANCE = random.Random("network cards")


def mac(sign, size=2):
    """Return an address of an IEEE 802 network card; its second digit is a letter, as no date's is."""
    digits = CHANCE.choice("0123456789abcdef") + "c" + "".join(CHANCE.choices("0123456789abcdef", k=10))
    return sign.join(digits[place : place + size] for place in range(0, 12, size))


@pytest.mark.parametrize("address", [mac(":"), mac("-"), mac(":").upper(), mac("-").upper(), mac(".", 4)])
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "the printer is {}.",
        "ether {} txqueuelen 1000",
        "địa chỉ MAC là {} nhé",
        "мак-адрес {}, запиши",
        "网卡地址是{}。",
        '{{"mac": "{}"}}',
        "MAC-Adresse ({})",
    ],
)
def test_addresses_are_found(text, address):
    assert REDACTOR.redact(text.format(address)) == text.format("<MAC>")


def test_addresses_with_digits_only_are_found_between_colons():
    assert REDACTOR.redact("arp 00:11:22:33:44:55") == "arp <MAC>"


def test_each_address_of_a_list_is_found():
    lines = [f"{place} dev {mac(':')} up" for place in range(20)]
    assert REDACTOR.redact("\n".join(lines)) == "\n".join(f"{place} dev <MAC> up" for place in range(20))


@pytest.mark.parametrize(
    "text",
    [
        "ff:ff:ff:ff:ff:ff",  # everybody's
        "00:00:00:00:00:00",
        "at 12:34:56 and 12:34:57",
        "12:34:56:07",
        "2024-01-31-12-34-56",
        "24-01-31-12-34-56",  # digits only, between hyphens
        "10-20-30-40-50-60",
        mac(":") + ":aa",  # longer
        mac(":")[:-1],
        mac(":")[3:],
        mac(":").replace(":", "-", 1),
        mac("."),
        "fe80:1c2d:3e4f:5a6b:7c8d:9eaf",  # groups of an IPv6 address
        "1234.5678.9012",
        "dead.beef",
        "cafe-babe-face",
        "sha1 aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd",
    ],
)
def test_other_groups_stay(text):
    assert REDACTOR.redact(text) == text
