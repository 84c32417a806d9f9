"""Words before the ids that organisations give."""

from __future__ import annotations

SEPARATORS = " \t\r\n:=\"'`({[<>|/-"

MOST_LINKS = 6
"""How many small words may stand between a kind of id and its value."""


def _split(words: str) -> tuple[str, ...]:
    return tuple(words.split("|"))


LINKS = _split(" is| was| are| của| tôi| em| anh| chị| mình| là| мой| моя| моего| это|是|為|为|的|'s")
"""Small words between a kind of id and its value."""

NUMBER_WORDS = _split(
    " id| ids| number| numbers| num| num.| no| no.| nr| nr.| code| ref| identifier|#|№| số| mã số| номер| номера"
    "|編號|编号|號碼|号码|代號|代号|代碼|代码|卡號|卡号|號|号|id|number"
)
"""What makes an id of a kind: `employee id`, `客戶編號`."""

NUMBER_BEFORE = ("номер", "номера", "№", "код", "id", "number of", "no. of")
"""The same where it stands before the kind: `номер договора`."""

_AMOUNTED = (
    "employee|staff|worker|personnel|payroll|badge|member|membership|customer|client|patient|student|subscriber|donor"
    "|applicant|insurance|policy|policyholder|policy holder|contract|agreement|claim|case|ticket|incident|account|acct|loan"
    "|chart|medical record|medicare|medicaid|beneficiary|enrollee|enrolment|enrollment|loyalty|loyalty card|referral"
    "|prescription|health plan|national health|emp|cust|insured"
    "|tài khoản|hợp đồng|hồ sơ"
    "|договор|договора|лицевой счет|лицевого счета|расчетный счет|расчетного счета|счет|счета|р/с|л/с|карта пациента"
    "|карты пациента|медкарта|медкарты|медицинской карты|история болезни|истории болезни|полис|полиса|студенческий билет"
    "|студенческого билета|сотрудник|сотрудника|клиент|клиента|пациент|пациента|студента|работника|дела|обращения|заявки"
    "|тикета|абонент|абонента|пропуска|зачетки|зачетной книжки"
)
_AMOUNTED_PARTS = ("帳號", "賬號", "帳戶", "賬戶", "账号", "账户", "帳户")

_NUMBERED = f"{_AMOUNTED}|user|file|reference|medical|group|member card|card holder|provider"
_NUMBERED_PARTS = _split(
    "員工|员工|職員|职员|客戶|客户|會員|会员|病歷|病历|病例|病患|患者|住院|保單|保单|合約|合约|合同|契約|學生|学生|案件|個案"
    "|工單|工单|檔案|档案|用戶|用户|教師|教师|健保|醫療|医疗|帳|賬|账|學|学|工"
)

_TELLING = (
    "mrn|empid|uid|a/c|bhyt|stk|mssv|msnv|mã nhân viên|mã khách hàng|mã bệnh nhân|mã bệnh án|mã sinh viên|mã học sinh"
    "|mã học viên|mã hội viên|mã thành viên|id thành viên|id nhân viên|id khách hàng|mã hợp đồng|mã hồ sơ"
    "|mã thẻ|thẻ thành viên|thẻ hội viên|mã nv|mã kh|mã sv|mã bn|mã hđ|mã số nhân viên"
    "|mã số khách hàng|mã số bệnh nhân|mã số sinh viên|mã số bhxh|số hợp đồng|số hồ sơ|số bệnh án|số tài khoản|số thẻ"
    "|số bảo hiểm|số bhyt|số hđ|số tk|số khế ước|thẻ bảo hiểm y tế|ma nhan vien|ma khach hang|ma sinh vien|so hop dong"
    "|so tai khoan|табельный|табельного|таб."
)
_TELLING_PARTS = ("員編", "员编")


class Kinds:
    """Words that end a phrase."""

    def __init__(self, whole: str, parts: tuple[str, ...] = ()) -> None:
        """`whole` ones, separated by `|`, don't continue a word; `parts` may."""
        self._by_end: dict[str, list[str]] = {}
        for word in (*whole.split("|"), *parts):
            self._by_end.setdefault(word[-1], []).append(word)
        self._parts = frozenset(parts)

    def before(self, phrase: str) -> str | None:
        """Return what stands before the word that ends `phrase`; None if none does."""
        for word in self._by_end.get(phrase[-1:], ()):
            if phrase.endswith(word):
                rest = phrase.removesuffix(word)
                if word in self._parts or not (rest[-1:].isalpha() and rest[-1:].isascii() == word[0].isascii()):
                    return rest.rstrip(SEPARATORS)
        return None


ALWAYS = Kinds(_TELLING, _TELLING_PARTS)
"""What introduces every token."""

WITH_NUMBER = Kinds(_NUMBERED, (*_NUMBERED_PARTS, *_AMOUNTED_PARTS))
"""What introduces every token if "number" or the like stands beside it."""

ALONE = Kinds(_AMOUNTED, _AMOUNTED_PARTS)
"""What organisations number. Sentences about amounts have these words too, so alone they introduce less."""
