"""Ids of Italy."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.national_id.base import END, START, Code, NationalIdRecogniser, S


class ItalyIdRecogniser(NationalIdRecogniser):
    """Finds the codice fiscale (decree of 23 December 1976), in which letters may stand for digits.

    Its form is so rare that no check character is needed.
    """

    CODES = (
        Code(
            re.compile(
                rf"{START}(?:[A-Z]{S}){{6}}(?:[0-9L-NP-V]{S}){{2}}[A-EHLMPRST]{S}[0-7L-NP-T]{S}[0-9L-NP-V]{S}"
                rf"[A-Z]{S}(?:[0-9L-NP-V]{S}){{3}}[A-Z]{END}",
                re.IGNORECASE,
            ),
            (b"AAAAAA9A", b"AAAAAA99A"),  # with four digits, the first of them is at least the fifth of the nine
            alone=lambda code: sum(map(str.isdigit, code)) >= 4,  # else it could be words
        ),
    )
