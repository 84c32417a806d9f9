"""Passports, licences, permits and other documents, known by the words before their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.context import OTHER_NUMBERS, Leads, Words, spaced
from discreet.redaction.recognisers.identifiers import digits_are_close, identifiers, shape

MOST_CHARS = 24
"""Longer ones are keys and digests."""

LEAST_DIGITS = 5
"""Shorter ones are years and amounts."""


class DocumentRecogniser:
    """Finds what stands after a document's name, and forms that documents of many countries share."""

    type = "NATIONAL_ID"
    LEAST_DIGITS = 3

    DOCUMENTS = Words(
        "passport|passports|passeport|pasaporte|passaporto|reisepass"
        "|driver license|driver licence|drivers license|drivers licence|driver's license|driver's licence|driving license"
        "|driving licence|dl number|dl no|dl#|license number|licence number|license no|licence no|license:|licence:|license #"
        "|visa number|visa no|visa id|visa #|national id|national identity|national identification|nationalid"
        "|identity card|identity number|identity document|id card|id number|id no|id #|idnumber|government id|state id|voter id"
        "|military id|tax id|taxid|tax number|tax identification|taxpayer id|taxpayer identification|vat number|vat id|vat no"
        "|residence permit|resident permit|resident card|residence card|resident id|green card|alien registration"
        "|permit number|permit no|permit #|work permit|birth certificate|ho chieu|gplx|bang lai|внж|рвп|права",
        "hộ chiếu|bằng lái xe|bằng lái|giấy phép lái xe|thị thực|số visa|giấy phép lao động|thẻ tạm trú|thẻ thường trú|giấy khai sinh"
        "|giấy tờ tùy thân|паспорт|загран|водительск|визы №|номер визы|виза №|удостоверение|удостоверения личности"
        "|вид на жительство|вида на жительство"
        "|разрешение на работу|разрешения на работу|свидетельство о рождении|свидетельства о рождении|свидетельство о браке"
        "|護照|护照|駕照|驾照|駕駛執照|驾驶证|駕駛證|驾驶执照|簽證|签证|證件號|证件号|身分證|身份證|身份证|居留證|居留证|居留許可|居留许可|工作證|工作证|工作許可|工作许可"
        "|稅籍|税籍|稅號|税号|パスポート|旅券|免許証|在留カード|여권|운전면허",
        exact="TIN",
    )

    FORMS = re.compile(
        r"[A-Z](?<![A-Za-z0-9-].)(?:"
        r"(?:(?<=N)ID|(?<=D)LN?|(?<=P)(?:PT?|ASSPORT)|(?<=S)SN|(?<=I)TIN"
        r"|(?<=[TE])IN)[-:][A-Z]{0,2}[0-9]{4,12}(?:-[0-9]{1,4}){0,2}"  # named by a prefix
        r"|[0-9]{3}-[0-9]{4}-[0-9]{4}"  # driving licences of Illinois, Maryland, Michigan and others
        r"|[0-9]{3}(?:-[0-9]{3}){2,3}(?:-[0-9]{2,3}){0,2}"  # and of Florida, Minnesota
        r"|(?!(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9])[0-9]{8}"  # passports of the United States (since 2021), China, Germany and others
        r"|[A-Z](?<!PO|SO|PR|SN|PN|NO|ID|KB|IN|RE|TK)[0-9]{7}"  # of Italy, Poland, Pakistan and others
        r"|[0-9][A-Z][0-9]{6}"
        r")(?![A-Za-z0-9]|-[0-9])"
    )

    SHAPES = (
        *(start + b"0000" for start in (b"-", b":", b"-a", b":a", b"-aa", b":aa")),
        *(b"a000-000", b"a00000000", b"aa0000000", b"a0a000000"),
    )
    """One is in the `shape` of each of them."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all numbers of documents."""
        if not view.derived(digits_are_close):
            return
        text, leads, form = view.text, view.derived(Leads), view.derived(shape)
        if any(part in form for part in self.SHAPES):
            for match in self.FORMS.finditer(text):
                if not leads.before(match.start()).has(OTHER_NUMBERS):
                    yield match.span()
        if not self.DOCUMENTS.occur(view.derived(spaced)):
            return
        for start, end in view.derived(identifiers):
            token = text[start:end]
            if self.validate(token) and (
                leads.before(start).has(self.DOCUMENTS, strict=token.isdecimal())
                or leads.behind(end).has(self.DOCUMENTS)
            ):
                yield start, end

    def validate(self, token: str) -> bool:
        """Tell whether a token has the length of a document's number."""
        return len(token) <= MOST_CHARS * 2 and LEAST_DIGITS <= sum(map(str.isdigit, token)) <= MOST_CHARS
