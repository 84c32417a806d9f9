"""Short codes that let somebody in: PINs, one-time codes, card verification values, in four languages."""

# ruff: noqa: RUF001 - the words are written in their own letters
# ruff: noqa: PLR0911, PLR2004 - each line rules one kind of text out

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.runs import Hints, small
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.view import Span, View

MOST_CHARS_BETWEEN = 48
"""How far from its word a code stands: "the PIN number for my old debit card is 4821"."""

MOST_CHARS_OF_NAME = 45
"""So far from each of `ANCHORS` its name may reach, to either side."""
LOOKED_AT_BEFORE = 16
LOOKED_AT_BEHIND = 220
"""What tells a code: a name, as much as may stand between, a code of 45 characters at most, and a unit."""


class ToldCodeRecogniser:
    """Finds three to eight digits (or a mix of capitals and digits) near a word for such a code.

    Sentences about codes have digits, too ("the code has 6 digits, expires in 5 minutes"): those are too short, or a
    unit follows.
    """

    type = "SECRET"
    HINTS = Hints(
        *("otp", "pin", "cvv", "cvc", "cvn", "csc", "code", "2fa", "mfa", "combination", "verify", "ma xac", "puk"),
        *("log in", "sign in", "mã", "số trên", "код", "пин", "цифры", "碼", "码", "密", "口令"),
    )
    ANCHORS = Hints(
        *("code", "pin", "otp", "2fa", "mfa", "cvv", "cvc", "cvn", "csc", "combination", "combo", "on the back", "puk"),
        *(
            "two-factor",
            "one-time",
            "one time",
            "sms",
            "verification",
            "confirmation",
            "security",
            "authentic",
            "login",
        ),
        *("log-in", "sign-in", "signin", "access", "auth", "activation", "backup", "recovery", "reset", "google"),
        *("whatsapp", "telegram", "bank", "apple", "microsoft", "facebook", "paypal", "xac ", "xác "),
        *("mã", "đăng nhập", "kích hoạt", "bảo mật", "dự phòng", "của bạn", "khôi phục"),
        *("код", "пин", "пароль", "цифры", "碼", "码", "口令"),
    )
    """Words, one of which is in each name, and the rest of it within `MOST_CHARS_OF_NAME` of that."""

    THREE_DIGITS = re.compile("[0-9][ -]?[0-9]")
    NAME = re.compile(
        r"(?:"
        r"(?P<card>(?:code|digits|number) on the back|(?<![a-z])(?:cvv2?|cvc2?|cvn|csc)(?![a-z])|(?:card )?(?:security|verification) (?:code|number|value)(?= (?:on|is|of|for)|[:]| [0-9])"
        r"|mã bảo mật(?: thẻ)?|код (?:на|с) обор\w{1,6}|цифры на обор\w{1,6}|安全碼|安全码|背面\w{0,4}[碼码])"
        r"|(?P<pin>(?<![a-z])pin(?:[ -]?(?:code|number|no\.?))?(?:'s)?(?![a-z])|(?<![a-z])puk[12]?(?:[ -]?(?:code|number|код))?(?![a-z])|пин(?:-?код\w{0,3})?(?![а-я])|mã pin|ma pin|pin thẻ|pin碼|pin码"
        r"|(?:door|gate|alarm|safe|entry|unlock|lock|garage|locker|building|access|luggage|voicemail|phone|screen)(?: un\w{3,5})? (?:code|combination|combo|passcode)"
        r"|passcode|lock combination|combination|mã (?:mở khóa|mở khoá|cửa|két|khóa|báo động|vào)|код (?:от|для|к|разблокировки|двери|сейфа|домофона)"
        r"|(?:解鎖|解锁|門禁|门禁|提款卡|銀行卡|银行卡|大門|大门|保險箱|保险箱|開機|开机|取款|支付|交易|信用卡|提款|手機|手机|門鎖|门锁)(?:的)?(?:密碼|密码|碼|码))"
        r"|(?P<once>(?<![a-z])(?:otp|2fa|mfa|totp|two-factor|one[- ]time|sms|verification|confirmation|security|authenticat(?:ion|or)|login|log-in|sign-?in"
        r"|access|auth|activation|backup|recovery|reset|google|whatsapp|telegram|bank|apple|microsoft|facebook|paypal)(?: id| pay)?"
        r"(?:[ -](?:pass)?(?:codes?|pins?|password|passcode|number|token)|(?<=otp)|(?<=2fa)|(?<=mfa)|(?<=totp))"
        r"|(?:your|my|the) (?:\w{2,16} )?code(?= (?:is|was)|:| [0-9])|(?<![a-z])codes?(?=:? [0-9]{6}(?![0-9]))|(?:use|got|enter|received|type|sent me)(?: the| a)? code"
        r"|m[ãa] (?:otp|xác (?:nhận|thực|minh)|xac (?:nhan|thuc|minh)|đăng nhập|kích hoạt|bảo mật|dự phòng|của bạn|khôi phục)|(?:nhập|dùng|có) mã|(?:gửi|nhắn|đọc|báo)(?: cho \w{1,6})? mã(?= [0-9]{6}(?![0-9]))"
        r"|код(?:ы)? (?:из|подтверждения|для входа|активации|безопасности|проверки|восстановления|доступа|авторизации|в смс)|(?:ваш|мой|одноразовый|проверочный|резервный|новый|пришёл|пришел|введите|сообщайте)"
        r"(?: \w{1,12})? (?:код|пароль)|не (?:говорите|сообщайте|называйте|передавайте|говори|сообщай)(?: никому)?(?: этот)? код|(?<![а-яё-])код(?=: [0-9])|смс-?код"
        r"|(?:驗證|验证|校验|確認|确认|動態|动态|一次性|激活|認證|认证|授權|授权|備用|备用|登入|登录|簡訊|短信)(?:密碼|密码|碼|码|口令)|(?:短信|簡訊)(?:里|裡|中)?[发發收寄传傳]\w{0,3}[码碼]|(?<![a-z])otp(?![a-z])))",
        re.IGNORECASE,
    )
    SMALL_NAME = re.compile(NAME.pattern)
    """The same in small letters: without regard to case it would be three times slower."""
    NOT_BEFORE = re.compile(
        r"(?:error|status|exit|zip|postal|area|country|source|dress|qr|bar|promo|discount|coupon|product|item|color|colour|sort|swift|response|http|dial|class"
        r"|build|unit|airport|currency|language|referral|invoice|order|customer|school|company|voucher|student|tax|vat|hs|morse|unicode|ascii|billing|return|postcode)[ -]\Z",
        re.IGNORECASE,
    )

    DIGITS = re.compile(
        r"(?<![A-Za-z0-9/#$€£¥₫+])(?<![0-9][.,:-])(?<!-)(?:[A-Z]{1,3}-)?(?P<value>[0-9]{3,4}[ -][0-9]{3,4}|[0-9]{3,10}|[A-Z0-9]{4}(?:-[A-Z0-9]{4}){1,5}|(?=[A-Z]{0,7}[0-9])(?=[0-9]{0,7}[A-Z])[A-Z0-9]{5,8}(?:-[A-Z0-9]{4,8}){0,3}|(?:[0-9][ -]){3,7}[0-9])"
        r"(?![A-Za-z0-9]|[.:/-][0-9]|,[0-9]{3}(?![0-9])|[ ]?(?:%|°|\$|€|₫|đ(?!\w)))"
    )
    UNIT = re.compile(
        r"[ -]{0,2}(?:character|digit|letter|lines?(?![a-z])|min(?:ute)?s?(?![a-z])|sec(?:ond)?s?(?![a-z])|hours?|days?|times?|users?|people|years?|mah|mm|cm|km|m(?![a-z])|kg|gb|mb|usd|eur|vnd|dollars?|euros?|pixels?|px|ms"
        r"|символ|знак|цифр|мин|секунд|дн|день|дней|час|раз|руб|строк|лет|ký tự|chữ số|số(?![a-z])|phút|giây|giờ|ngày|lần|đồng|năm|nghìn|triệu|dòng"
        r"|位|個|个|字|分|秒|天|次|年|月|日|元|行|人|亿|億|万|萬|点|點|块|塊|小時|小时|張|张)",
        re.IGNORECASE,
    )
    YEAR = re.compile(r"(?:19|20)[0-9]{2}")
    NEXT_SENTENCE = re.compile(r"[。!?！？\r\n]|\.(?= [^\W\d])")
    ABOUT = re.compile(
        r"(?:consists?|contains?|requires?|expires?|has|have|must|need|least|most|between|fewer|than|gồm|có(?! mã| hiệu)|hết hạn|sau|состо\w{1,5}|содерж\w{1,6}|действ\w{1,8}"
        r"|скидк\w{1,3}|заказ\w{1,3}|товар\w{1,3}|модел\w{1,3}|ошибк\w{1,3}|город\w{1,3}|клиент\w{1,3}|проект\w{1,3}|не менее|через|多少|什麼|什么|哪|至少|最多|長度|长度|應為|由|超過|超过|page|line|version|review|lines)(?![a-z])",
        re.IGNORECASE,
    )

    BEFORE = re.compile(
        r"(?<![A-Za-z0-9.,/:#$+-])(?:[A-Z]-)?(?P<value>[0-9]{3,4}[ -][0-9]{3}|[0-9]{3,8}|(?=[A-Z]{0,7}[0-9])[A-Z0-9]{5,8})[\"'`”»」]{0,2}[ ]{0,2}(?:"
        r"(?:is|was|as) (?:my|the|your|our|his|her)(?: [\w'-]{1,20}){0,4} (?:code|pin|otp|passcode|password|cvv|cvc)(?![a-z])"
        r"|là (?:mã|otp|pin|cvv|mật khẩu)|la (?:ma (?:xac|otp|pin|kich|dang|bao)|otp)|- (?:это )?(?:(?:ваш|мой|твой) )?(?:\w{1,16} )?(?:код|пин|пароль)|(?:это )?(?:ваш|мой|твой) (?:\w{1,16} )?(?:код|пин|пароль)"
        r"|(?:是|為|为)[\w ]{0,16}?(?:驗證碼|验证码|認證碼|认证码|確認碼|确认码|密碼|密码|校验码|安全碼|安全码|口令|pin碼|pin码)|\((?:验证码|驗證碼|校验码|otp|動態密碼|动态密码))",
        re.IGNORECASE,
    )
    TO_VERIFY = re.compile(
        r"(?<![A-Za-z])(?:enter|use|type|input|nhập|введите) (?P<value>[0-9]{4,8})(?: (?:to|as|for|để|для|as your)) (?:\w{1,16} ){0,3}?(?:verif|log|sign|confirm|authent|activ|reset|unlock|access|code|pin|xác|đăng|вход|подтвержд|otp)",
        re.IGNORECASE,
    )

    BEFORE_HINTS = Hints(
        *(" my ", " the ", " your ", " our ", " his ", " her ", "(otp", "la ma ", "la otp"),
        *("là ", "код", "пин", "пароль", "碼", "码", "口令", "是", "為", "为"),
    )
    VERIFY_HINTS = Hints("enter ", "use ", "type ", "input ", "nhập ", "введите ")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all codes."""
        text = view.text
        if not self.THREE_DIGITS.search(text):
            return
        if not self.HINTS.found_in(view):
            return
        lowered = view.derived(small)
        codes = Windows(text, self.look, before=LOOKED_AT_BEFORE, behind=LOOKED_AT_BEHIND)
        for first, last in _around(view.derived(self.ANCHORS.places)):
            for name in self.SMALL_NAME.finditer(lowered, first, last):
                if found := codes.at(name.start()):
                    yield name.start() + found[0], name.start() + found[1]
        for hints, pattern in ((self.BEFORE_HINTS, self.BEFORE), (self.VERIFY_HINTS, self.TO_VERIFY)):
            for match in pattern.finditer(text) if hints.found_in(view) else ():
                yield match.span("value")

    def look(self, text: str, start: int) -> Span | None:
        """Return the span of the code that the name at `start` announces, from there on, or None."""
        name = self.NAME.match(text, start)
        if name is None:
            return None
        place = start + (len(name[0].rsplit("code", 1)[0]) if "code" in name[0] else 0)
        if self.NOT_BEFORE.search(text, max(0, start - 12), place):
            return None
        found = self.behind(text, name)
        return found and (found[0] - start, found[1] - start)

    def behind(self, text: str, name: re.Match[str]) -> Span | None:
        """Return the span of the code behind a word for one; None if the sentence has none."""
        limit = min(len(text), name.end() + MOST_CHARS_BETWEEN + 20)
        digits = self.DIGITS.search(text, name.end(), limit)
        if digits is None or digits.start() - name.end() > MOST_CHARS_BETWEEN:
            return None
        between = text[name.end() : digits.start()].lstrip("?")
        value = digits["value"]
        count = sum(map(str.isdigit, value))
        if self.NEXT_SENTENCE.search(between) or self.ABOUT.search(between) or self.UNIT.match(text, digits.end()):
            return None
        if name["card"]:
            return (
                digits.span("value")
                if (count in (3, 4) and value.isdigit())
                or (count in (5, 6, 7, 8) and "card" not in name[0].lower() and len(between) < 12)
                else None
            )
        if count < 4 and not (name["pin"] and len(between) < 12 and "code" in name[0].lower()):
            return None
        told = re.search(r"(?:is|was|to|:|=|là|это|-|是|為|为)[ \"'`“«「]{0,3}\Z", between, re.IGNORECASE)
        if self.YEAR.fullmatch(value) and not told and between.strip(" :"):
            return None
        if name["pin"] and not told and len(between.strip()) > 24:
            return None
        return digits.span("value")


def _around(spots: list[int]) -> Iterator[Span]:
    """Return where names may stand, in order and apart."""
    first = last = 0
    for spot in spots:
        if spot - MOST_CHARS_OF_NAME > last:
            if last:
                yield first, last
            first = spot - MOST_CHARS_OF_NAME
        last = spot + MOST_CHARS_OF_NAME
    if last:
        yield first, last
