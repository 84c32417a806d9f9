import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import IpRecogniser

REDACTOR = Redactor(recognisers=[IpRecogniser()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # documentation ranges: RFC 5737, RFC 3849; forms: RFC 4291, RFC 4007, RFC 3986
        ("my IP is 203.0.113.7, ok", "my IP is <IP>, ok"),
        ("địa chỉ IP 203.0.113.7 nhé", "địa chỉ IP <IP> nhé"),
        ("мой айпи203.0.113.7спасибо", "мой айпи<IP>спасибо"),
        ("伺服器203.0.113.7掛了", "伺服器<IP>掛了"),
        ("２０３.０.１１３.７", "<IP>"),
        ("203[.]0[.]113[.]7", "<IP>"),
        ("server 203.0.113.7:8080 is down", "server <IP> is down"),
        ("subnet 10.20.0.0/16", "subnet <IP>"),
        ("ping 1.2.3.4", "ping <IP>"),
        ("listens on 1.2.3.4:8080", "listens on <IP>"),
        ("IPv6 2001:db8::1.", "IPv6 <IP>."),
        ("addr:2001:db8:85a3::8a2e:370:7334", "addr:<IP>"),
        ("2001:0db8:85a3:0000:0000:8a2e:0370:7334", "<IP>"),
        ("server 2001:db8:85a3:1:2:8a2e:370:7334:8080 is down", "server <IP> is down"),
        ("http://[2001:db8::1]:443/", "http://<IP>/"),
        ("fe80::1ff:fe23:4567:890a%eth0 up", "<IP> up"),
        ("::ffff:192.0.2.128", "<IP>"),
        ("伺服器：2001:db8::4", "伺服器：<IP>"),
        ("сервер:2001:DB8::4 лежит", "сервер:<IP> лежит"),
        ("サーバー：fe80::1ff:fe23%eth0", "サーバー：<IP>"),
        ("請記住11d6:cd81:4c28:a2a:e7ad:8710:11e4:1012這個", "請記住<IP>這個"),
    ],
)
def test_addresses_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Version 10.2.0.5 of the driver",
        "v10.2.0.5",
        "tổng cộng 1.250.000.000 đồng",
        "1.250.000.020",
        "1.250.020.125",
        "phiên bản 10.2.0.5",
        "версия 10.2.0.5",
        "版本10.2.0.5",
        "Upgrade from 10.2.0.4 to 10.2.0.5",
        "Chrome/120.0.60.99",
        "1.2.3.4 Scope",
        "256.1.1.1",
        "1.10.3.4.5",
        "127.0.0.1 and 0.0.0.0 and ::1 and ::",
        "mask 255.255.255.0",
        "12:30:45 and 1:23:45",
        "aa:bb:cc:dd:ee:ff",
        "12:34:56:78:9a:bc:de:f0",
        "std::vector<int>::iterator, a1::b2, Foo::Bar::baz",
        "John 3:16, ratio 1:2:3:4",
    ],
)
def test_versions_times_and_common_addresses_stay(text):
    assert REDACTOR.redact(text) == text
