"""Say values in sentences of four languages, and harmless text that looks like them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Final
from uuid import UUID

from kit import values
from kit.values import Chance

SAID: Final[Mapping[str, Mapping[str, tuple[Callable[[Chance], str], str]]]] = {
    "EMAIL": {
        "en": (values.email, "Please write to {} when it is done."),
        "vi": (values.email, "Vui lòng gửi thư cho tôi theo địa chỉ {} nhé."),
        "ru": (values.email, "Напишите мне на {} когда будет готово."),
        "zh": (values.email, "请把结果发到 {} ，谢谢。"),
    },
    "PHONE": {
        "en": (values.phone, "You can call me on {} after six."),
        "vi": (values.phone, "Số điện thoại của tôi là {} nhé."),
        "ru": (values.phone, "Мой телефон {} после шести."),
        "zh": (values.phone, "我的电话是 {} ，六点以后打。"),
    },
    "CARD": {
        "en": (values.card, "Charge my card {} please."),
        "vi": (values.card, "Số thẻ tín dụng của tôi là {} nhé."),
        "ru": (values.card, "Номер моей карты {} спишите с неё."),
        "zh": (values.card, "我的信用卡号是 {} 。"),
    },
    "IBAN": {
        "en": (values.iban, "Send the refund to {} today."),
        "vi": (values.iban, "Hoàn tiền vào tài khoản {} giúp tôi."),
        "ru": (values.iban, "Верните деньги на счёт {} сегодня."),
        "zh": (values.iban, "请退款到账户 {} 。"),
    },
    "NATIONAL_ID": {
        "en": (values.social_security_number, "My social security number is {}."),
        "vi": (values.citizen_number, "Số căn cước công dân của tôi là {} nhé."),
        "ru": (values.insurance_number, "Мой СНИЛС {} запишите."),
        "zh": (values.resident_number, "我的身份证号是 {} 。"),
    },
    "IP": {
        "en": (values.ip, "I logged in from the IP address {} last night."),
        "vi": (values.ip, "Tôi đăng nhập từ địa chỉ IP {} tối qua."),
        "ru": (values.ip, "Я входил с адреса IP {} вчера."),
        "zh": (values.ip, "我昨晚从 IP 地址 {} 登录。"),
    },
    "SECRET": {
        "en": (values.secret, "The key for the service is {} for now."),
        "vi": (values.secret, "Khoá của dịch vụ là {} nhé."),
        "ru": (values.secret, "Ключ сервиса {} пока такой."),
        "zh": (values.secret, "服务的密钥是 {} 。"),
    },
    "PASSWORD": {
        "en": (values.password, "My password is {}"),
        "vi": (values.password, "Mật khẩu của tôi là {}"),
        "ru": (values.password, "Мой пароль: {}"),
        "zh": (values.password, "我的密码是 {}"),
    },
    "INTERNAL_ID": {
        "en": (values.internal_id, "My customer number is {} as before."),
        "vi": (values.internal_id, "Mã khách hàng của tôi là {} nhé."),
        "ru": (values.internal_id, "Номер клиента {} как раньше."),
        "zh": (values.internal_id, "我的客户编号是 {} 。"),
    },
    "URL": {
        "en": (values.url, "The report is at {} for a week."),
        "vi": (values.url, "Báo cáo ở đây {} trong một tuần."),
        "ru": (values.url, "Отчёт лежит здесь {} неделю."),
        "zh": (values.url, "报告在 {} 一周内有效。"),
    },
    "ADDRESS": {
        "en": (values.english_address, "Deliver it to {}."),
        "vi": (values.vietnamese_address, "Giao hàng đến {} giúp tôi."),
        "ru": (values.russian_address, "Доставьте по адресу: {}."),
        "zh": (values.chinese_address, "请送到{}。"),
    },
}
"""Kind -> language -> what makes the value, and the sentence that says it."""

TYPES = tuple(SAID)
FOUND_AS = {"PASSWORD": "SECRET"}
"""Type of the finding, for kinds of which that is not the name."""

LANGUAGES = ("en", "vi", "ru", "zh")
PLAIN_TYPES = ("EMAIL", "PHONE", "CARD", "IBAN", "SECRET", "URL")
"""Types that are known without a word beside them, for keys and fields."""

HARMLESS: Final[tuple[Callable[[Chance], str], ...]] = (
    lambda chance: f"Your order no. {chance.number(10**7)} has shipped.",
    lambda chance: f"It is due on {date(2025, 1, 1) + timedelta(days=chance.serial % 3000)}.",
    lambda chance: f"Version {chance.serial % 9 + 1}.{chance.serial % 40}.{chance.serial % 77} fixes it.",
    lambda chance: f"The event is {UUID(int=chance.random.getrandbits(128), version=4)}.",
    lambda chance: f"It costs ${chance.serial % 900 + 1:,}.99 with tax.",
    lambda chance: f"The book is ISBN {_isbn(chance)}.",
    lambda chance: f"Giá là {chance.serial % 900 + 100}.000 đồng.",
    lambda chance: f"Всего {chance.serial % 900 + 2} товаров на складе.",
    lambda chance: f"会议在 2026 年 {chance.serial % 12 + 1} 月 {chance.serial % 28 + 1} 日。",
)
"""Sentences with numbers that nobody should report."""


def _isbn(chance: Chance) -> str:
    body = f"978{chance.serial % 10}{chance.number(10**7):07d}{chance.serial % 10}"
    check = -sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(body)) % 10
    return f"{body[:3]}-{body[3]}-{body[4:8]}-{body[8:]}-{check}"
