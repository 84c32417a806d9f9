import sys

import pytest

from discreet.errors import ConfigurationError, MissingDependencyError
from discreet.redaction import Redactor
from discreet.redaction.recognisers import InternalIdRecogniser

REDACTOR = Redactor(recognisers=[InternalIdRecogniser()])


@pytest.mark.parametrize(
    "text",
    [
        "employee ID ⟦E-20417⟧ ok",
        "Employee #⟦4521⟧",
        '{"employee_id": "⟦EMP-37429⟧"}',
        '<employer empid="⟦EMP-37495⟧"/>',
        "my customer number is ⟦88231⟧",
        "(MRN: ⟦MRN-4497446⟧)",
        "medical record no. ⟦4567⟧",
        "The patient's insurance ID is ⟦INS-662704125⟧.",
        "policy #⟦ABC123456⟧",
        "Account: ⟦10359970⟧ | Card",
        "account number ⟦1234 5678 9012⟧",
        "ticket ⟦INC5639537⟧",
        "⟦CUST-00912⟧ wrote again",
        "mã nhân viên ⟦NV81654⟧ nhé",
        "Mã khách hàng của tôi là ⟦PE01000123456⟧",
        "hợp đồng số ⟦0123/2024/HĐTD⟧",
        "STK ⟦19034567890123⟧",
        "thẻ BHYT ⟦GD4797912345678⟧",
        "табельный номер ⟦00412⟧",
        "номер договора ⟦ДГ-682482⟧",
        "лицевой счёт ⟦6770424472⟧",
        "полис ⟦ХХХ 0123456789⟧",
        "номер клиента ⟦778899⟧",
        "員工編號是⟦10234⟧喔",
        "客戶編號 ⟦C5278961⟧這個",
        "病歷號⟦60081990⟧",
        "帳號⟦508653742325⟧",
        "我的工號是 ⟦TW-8821⟧",
        "学号是⟦2020123456⟧",
        "⟦5570880⟧ is my badge number, thanks",
        "I typed the badge number wrong, it should be ⟦684461370⟧",
        "sửa lại mã nhân viên thành ⟦LA61600⟧",
        "⟦2676575405290⟧ là stk của mình",
        "⟦5570880⟧ — это табельный номер",
        "⟦539939160⟧是我的学号",
        "合同编号应该是⟦ZFH-546360⟧才对",
        "mã thẻ thành viên: ⟦140152350⟧ nhé",
        "ck vào stk ⟦19034567890120⟧ VCB",
        "ID thành viên ⟦140152350⟧",
        "табельный номер исправьте на ⟦5570880⟧",
        "⟦5570880⟧ мой табельный номер",
        "stk ⟦19034567890120⟧ đứng tên Lan",
        "chuyển khoản vào ⟦19034567890120⟧ ngân hàng Techcombank",
    ],
)
def test_ids_are_found_by_words_and_prefixes(text):
    before, rest = text.split("⟦")
    assert REDACTOR.redact(text.replace("⟦", "").replace("⟧", "")) == f"{before}<INTERNAL_ID>{rest.split('⟧')[1]}"


@pytest.mark.parametrize(
    "text",
    [
        "PROJ-123 is done, ABC-4567 is open",
        "45000 is my account balance, 1234567 is the client budget",
        "1234567 là số tiền, chuyển khoản vào 2000000 đồng",
        "chuyển khoản 15000000 nhé",
        "5000000 là số tiền trong tài khoản, nâng hạn mức tài khoản thành 50000000",
        "20000000 — это сумма договора",
        "5570880 — это много, табельный потом",
        "5570880是我的密度",
        "Order #123456789, tracking 1Z999AA10123456784",
        "invoice INV-2024-0012, part no. 90-1234-5678-01",
        "Boeing 737-800, RFC 2616, ISBN 978-3-16-148410-0",
        "The customer spent 45000 dollars in 2023",
        "our case: 45 of 2000 patients",
        "Tickets cost 4500 yen; ticket: 12500 won",
        "The contract runs from 2021 to 2025",
        "account balance 10450.25",
        "Đơn hàng số 240517ABC123 đã giao",
        "Tài khoản có 25.000.000 VND",
        "Hợp đồng ký ngày 17/05/2024, trị giá 450.000.000 đồng",
        "Công ty có 12000 nhân viên và 45000 khách hàng",
        "Номер заказа 58392017-0001 в пути",
        "На счету 125000 рублей",
        "Договор подписан 17.05.2024 на сумму 1250000 рублей",
        "訂單編號202405171234已出貨",
        "帳戶裡有125000元",
        "合約金額1250000元",
    ],
)
def test_orders_amounts_and_dates_stay(text):
    assert REDACTOR.redact(text) == text


def test_an_organisation_adds_its_own_patterns():
    redactor = Redactor(recognisers=[InternalIdRecogniser(patterns=[r"\bzeta-[a-z]{3}\b", r"unit:(\w+)"])])
    assert redactor.redact("zeta-abc, unit:blue") == "<INTERNAL_ID>, unit:<INTERNAL_ID>"
    assert REDACTOR.redact("zeta-abc, unit:blue") == "zeta-abc, unit:blue"


def test_a_broken_pattern_is_named_by_its_place():
    with pytest.raises(ConfigurationError, match=r"Pattern 2 .*missing"):
        InternalIdRecogniser(patterns=["a", "(b"])


def test_patterns_that_only_backtracking_could_match_are_refused():
    with pytest.raises(ConfigurationError, match="Pattern 1"):
        InternalIdRecogniser(patterns=[r"(a)\1"])


def test_patterns_without_google_re2_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    assert InternalIdRecogniser()
    with pytest.raises(MissingDependencyError, match="pip install google-re2"):
        InternalIdRecogniser(patterns=["a"])
