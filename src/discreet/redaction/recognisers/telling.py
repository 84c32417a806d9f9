"""Words that a secret is near, for all recognisers that look behind one."""

from __future__ import annotations

from discreet.redaction.recognisers.runs import Hints

NAMES = Hints(
    *(
        "pass",
        "pwd",
        "psw",
        "pw",
        "mk",
        "key",
        "api",
        "secret",
        "token",
        "cred",
        "login",
        "log in",
        "user",
        "tk",
        "auth",
    ),
    *("jwt", "csrf", "xsrf", "sid", "sess", "phpsess", "cookie", "otp", "cvv", "pin", "sig", "hash", "salt", "dsn", "wpa"),
    *("senha", "mot de passe", "kennwort", "mat khau", "jelsz", "contrase", "hasł", "şifre"),
    *(
        "パスワ",
        "暗証",
        "비밀",
        "비번",
        "mật",
        "tài kho",
        "khóa",
        "khoá",
        "khoa api",
        "khoa bí",
        "khoa riêng",
        "khoa truy",
        "mã token",
    ),
    *("вход:", "учётк", "учетк", "đăng nhập b", "đăng nhập v"),
    *("парол", "пасс", "кодов", "ключ", "токен", "секрет", "логин"),
    *(
        "密碼",
        "密码",
        "密鑰",
        "密钥",
        "口令",
        "金鑰",
        "令牌",
        "權杖",
        "权杖",
        "私钥",
        "私鑰",
        "暗号",
        "暗號",
        "帳密",
        "账密",
        "帐密",
    ),
    *(account + kind + "密" for account in "帳账帐" for kind in "號号戶户"),
)
"""How names of secrets begin, in small letters."""
