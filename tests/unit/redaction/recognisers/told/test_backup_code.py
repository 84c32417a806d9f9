import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import BackupCodeRecogniser

REDACTOR = Redactor(recognisers=[BackupCodeRecogniser()])
KEY = "ab2d efg3 hijk 7mno"
"""Base32 as apps show it (RFC 4648, section 6)."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # forms of GitHub, Google and Dropbox
        ("backup codes: u3ybk-ep398", "backup codes: <SECRET>"),
        ("Recovery codes:\n1. a8b9c-d0e1f\n2. k2m3n-p4q5r", "Recovery codes:\n1. <SECRET>\n2. <SECRET>"),
        ("backup codes are 1234 5678, 8765 4321", "backup codes are <SECRET>, <SECRET>"),
        ("mã dự phòng: navk2-w67qu", "mã dự phòng: <SECRET>"),
        ("mã khôi phục của em: 12345678", "mã khôi phục của em: <SECRET>"),
        ("резервные коды: hmyuj-ltzwa", "резервные коды: <SECRET>"),
        ("код восстановления a8b9c-d0e1f", "код восстановления <SECRET>"),
        ("我的备用码mga22-ghscx", "我的备用码<SECRET>"),
        ("備用驗證碼 y3sf4-dtela", "備用驗證碼 <SECRET>"),
        (f"2FA setup key: {KEY}", "2FA setup key: <SECRET>"),
        (f"密钥：{KEY.upper()}", "密钥：<SECRET>"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "backup codes: see attached",
        "backup codes: short-lived",
        "backup codes: enable-2fa",
        "order a8b9c-d0e1f",
        "mã dự phòng: không có",
        "mã giảm giá a8b9c-d0e1f",
        "резервные коды: где взять?",
        "резервные копии a8b9c-d0e1f",
        "备用码在哪里",
        "备用钥匙a8b9c-d0e1f",
        "2FA setup key: open the code they sent",
        KEY,
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
