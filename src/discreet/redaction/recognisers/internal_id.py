"""Ids that organisations give: of employees, customers, patients, policies, contracts, accounts."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.errors import ConfigurationError, MissingDependencyError
from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.context import Leads
from discreet.redaction.recognisers.identifiers import digits_are_close, identifiers, shape
from discreet.redaction.recognisers.internal_id_words import (
    ALONE,
    ALWAYS,
    LINKS,
    MOST_LINKS,
    NUMBER_BEFORE,
    NUMBER_WORDS,
    SEPARATORS,
    WITH_NUMBER,
)

SMALL_WORDS = (*LINKS, *NUMBER_WORDS)

MOST_CHARS = 40
"""Longer ones are keys and digests."""

LEAST_ACCOUNT_DIGITS = 7
"""Shorter numbers after `account` alone are as likely amounts."""

WORD = lazy(r"[^\W_]+(?:[/.][^\W_]+)?")

AMOUNTS = lazy(
    r"(?<![a-z])(?:loans?|budget|amount|balance|payout|payment|limit|value|total|count)(?![a-z])|số tiền|số dư"
    r"|giá|tổng|hạn mức|lương|сумм|остат|баланс|лимит"
    r"|余额|餘額|金额|金額|预算|預算|人数|人數|总|總"
)
"""What is not of an id, but of what an organisation counts."""

PARTICLES = lazy("[吧呢啊哦呀喔哈嘛啦唷呦喲哟]{1,2}\\Z")
"""What may end a Chinese sentence."""

MOST_PATTERN_MEMORY = 8 << 20
"""Bytes that RE2 may use for one pattern, its own default."""


class InternalIdRecogniser:
    """Finds ids by the words before them, by prefixes that tell their kind, and by an organisation's own `patterns`.

    `patterns` are RE2 expressions (https://github.com/google/re2/wiki/Syntax): RE2 takes linear time for every input. All
    that one matches is masked, or its first group if it has one.

    Raises:
        MissingDependencyError: there are patterns, and google-re2 is not installed.
        ConfigurationError: a pattern can't be compiled.

    Example:
        >>> from discreet.redaction import Redactor
        >>> Redactor(recognisers=[InternalIdRecogniser()]).redact("employee id E-20417, order 20417")
        'employee id <INTERNAL_ID>, order 20417'
    """

    type = "INTERNAL_ID"

    PREFIXED = lazy(
        r"(?<![A-Za-z0-9-])(?:"
        r"(?:MRN|EMP|EMPL|STAFF|INS|POL|POLICY|CUST|CUS|CLIENT|CLM|CLAIM|PAT|PT|PID|MEM|MBR|MEMBER|ACC|ACCT|STU|STD|SID|CASE|TKT"
        r"|TICKET|INC|RITM|CHG|NH|NV|KH|BN|BA|SV|HS|HD|HĐ|BHYT|GD|TK|EID|CID|UID|CNT|CTR|MED|HIC|SUB|GRP)"
        r"[-_#]{1,2}[0-9]{4,14}(?:-[0-9]{1,6})?"
        r"|(?:MRN|EMP|CUST|PAT|CLM|POL|INS|MBR|MEM)[ :]?[0-9]{5,12}|INC[0-9]{7,10}|RITM[0-9]{7}|NV[0-9]{5,6}"
        r"|(?:ДГ|ДОГ|КЛ|СОТР|ТН|ЛС|ПОЛ|ДМС|ПЦ|ИБ|КП)[-№ ]?[0-9]{4,12}"
        r"|(?:ХХХ|XXX|ЕЕЕ|EEE|ККК|МММ|ННН|РРР|ССС|ТТТ|ААВ|ААС)[ №]{0,3}[0-9]{10}"  # Russian motor insurance (OSAGO)
        r")(?![A-Za-z0-9]|-[0-9])"
    )
    """Prefixes that say whose number it is (ServiceNow's INC among them)."""

    TRANSFER = lazy(
        r"(?<![^\W\d_])(?:chuyển(?: khoản| tiền)?|ck)(?: giúp| cho)?(?: em| anh| chị| mình)? (?:vào|đến|tới|qua"
        r"|về) (?:số )?(?:tài khoản |stk |tk )?(?P<value>[0-9]{8,16})(?![0-9])"
        r"[ ,(-]{1,3}(?:ngân hàng|nh |vietcombank|vcb|techcombank|tcb|mb|bidv|acb|agribank|vietinbank|tpbank|vpbank|sacombank|vib|shb)",
        re.IGNORECASE,
    )
    """Vietnamese accounts to which one is asked to transfer: the bank stands behind."""

    INITIAL = lazy("[A-ZА-ЯЁ](?<![A-Za-z0-9-].)(?=[A-ZА-ЯЁĐ]{1,5}[ :#№_-]{0,3}[0-9]{4})")
    """Where a prefix may begin."""

    SHAPES = (b"A9999", b"#9999", b":9999", b"?9999")
    """One is in the `shape` of each of them; other letters than those of ASCII are `?`."""

    LETTERED = lazy("[A-ZА-ЯЁĐ]{1,5}[-_#]?[0-9]")

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = tuple(_compile(number, pattern) for number, pattern in enumerate(patterns, start=1))

    @property
    def LEAST_DIGITS(self) -> int:  # noqa: N802  # a constant of its siblings
        """How many digits a text has in which anything is found: one's own patterns may need none."""
        return 0 if self._patterns else 1

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all ids."""
        text = view.text
        for pattern in self._patterns:
            for match in pattern.finditer(text):
                start, end = match.span(1 if pattern.groups and match.start(1) >= 0 else 0)
                if start < end:
                    yield start, end
        if view.derived(digits_are_close):
            yield from self._prefixed(view)
            yield from self._told(view)
            if "chuyển" in view.lowered or "ck " in view.lowered:
                yield from (match.span("value") for match in self.TRANSFER.finditer(text))

    def _prefixed(self, view: View) -> Iterator[Span]:
        form = view.derived(shape)
        if any(part in form for part in self.SHAPES):
            for start in self.INITIAL.finditer(view.text):
                if found := self.PREFIXED.match(view.text, start.start()):
                    yield found.span()

    def _told(self, view: View) -> Iterator[Span]:
        leads = view.derived(Leads)
        kinds: dict[str, bool | None] = {"": False}
        kinds_behind: dict[str, bool | None] = {}
        for start, end in view.derived(identifiers):
            if end - start <= MOST_CHARS:
                before = leads.before(start).text
                if before not in kinds:
                    kinds[before] = self.introduces(before)
                told = kinds[before]
                if told or (told is None and self.validate(view.text[start:end])):
                    yield start, end
                elif behind := leads.behind(end).text:
                    if behind not in kinds_behind:
                        kinds_behind[behind] = self.follows(behind)
                    told = kinds_behind[behind]
                    if told or (told is None and self.validate(view.text[start:end])):
                        yield start, end

    def introduces(self, before: str) -> bool | None:
        """Tell whether words make every token after them somebody's id; None if only a token that looks like an id."""
        bare = before.lower().replace("_", " ").rstrip(SEPARATORS)
        phrase, numbered = _phrase(before)
        if ALWAYS.before(phrase) is not None or ALWAYS.before(bare) is not None:
            return True
        kind = WITH_NUMBER.before(phrase)
        if kind is not None and (numbered or kind.endswith(NUMBER_BEFORE)):
            return True
        return None if ALONE.before(phrase) is not None or ALONE.before(bare) is not None else False

    def follows(self, behind: str) -> bool | None:
        """Tell what `introduces` does of words behind a token: "my badge number", "mã nhân viên của em"."""
        behind = PARTICLES.sub("", behind)
        if AMOUNTS.search(behind.lower()):
            return False
        if any(self.introduces(behind[: word.end()]) for word in WORD.finditer(behind)):
            return True
        return self.introduces(behind)

    def validate(self, token: str) -> bool:
        """Tell whether a token looks like an id rather than an amount."""
        digits = token.replace(" ", "").replace("-", "")
        return self.LETTERED.match(token) is not None or (digits.isdecimal() and len(digits) >= LEAST_ACCOUNT_DIGITS)


def _phrase(before: str) -> tuple[str, bool]:
    """Return what precedes the separators and small words at the end of `before`; and whether one of them was "number"."""
    rest = " " + before.lower().replace("_", " ").replace("ё", "е").rstrip(SEPARATORS)
    numbered = False
    for _ in range(MOST_LINKS):
        if not rest.endswith(SMALL_WORDS):
            break
        ending = next((each for each in LINKS if rest.endswith(each)), "")
        if not ending:
            ending = next((each for each in NUMBER_WORDS if rest.endswith(each)), "")
            numbered = numbered or bool(ending)
        rest = rest.removesuffix(ending).rstrip(SEPARATORS)
    return rest, numbered


def _compile(number: int, pattern: str) -> Any:
    """Return the pattern compiled by RE2. An error names it by its place among the others."""
    try:
        re2 = importlib.import_module("re2")
    except ModuleNotFoundError as error:
        raise MissingDependencyError("Patterns for internal ids need google-re2: pip install google-re2.") from error
    options = re2.Options()
    options.max_mem = MOST_PATTERN_MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else "it is no regular expression"
        written = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ConfigurationError(f"Pattern {number} for internal ids can't be compiled: {written}.") from error
