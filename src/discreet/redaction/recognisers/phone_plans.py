"""How regions write their telephone numbers, from the metadata of `phonenumbers`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumber

from discreet.errors import ConfigurationError
from discreet.redaction.recognisers.digits import Window

NANP = 1
"""Country code of the United States, Canada and the Caribbean."""

BARE = {
    NANP: "[2-9][0-9]{2}[2-9][0-9]{6}",
    7: "[3489][0-9]{9}",
    34: "[6789][0-9]{8}",
    86: "1[3-9][0-9]{9}|400[0-9]{7}",
    91: "[6-9][0-9]{9}",
}
"""Country code -> numbers commonly written without any prefix: North American, Russian, Spanish ones, mobiles elsewhere."""

KINDS = ("fixed_line", "mobile", "toll_free", "shared_cost", "premium_rate", "personal_number", "pager", "voip", "uan")
"""Kinds of numbers in phonenumbers' metadata that one can dial."""

BARE_GROUPS: dict[int, set[tuple[int, ...]]] = {
    NANP: {(10,), (3, 7), (6, 4), (3, 3, 4), (4, 4, 2)},
    7: {(3, 3, 2, 2), (4, 2, 2, 2), (5, 1, 2, 2)},
    34: {(3, 2, 2, 2), (2, 3, 2, 2)},
    86: {(11,), (3, 4, 4), (3, 8), (4, 4, 3), (3, 3, 5), (3, 4, 3), (3, 3, 4)},
    91: {(5, 5)},
}
"""Two of five ten-digit numbers could be North American, and one of five with nine Spanish, so the grouping has to fit too."""

PREFIXED_GROUPS: dict[int, set[tuple[int, ...]]] = {
    NANP: {(11,), (1, 10), (1, 3, 7), (1, 3, 3, 4), (4, 3, 4), (4, 4, 3)},
    7: {
        *(
            (11,),
            (1, 10),
            (1, 3, 7),
            (1, 3, 3, 4),
            (1, 3, 3, 2, 2),
            (1, 3, 2, 2, 3),
            (1, 3, 2, 3, 2),
            (4, 3, 2, 2),
            (4, 7),
        ),
        *((4, 4, 3), (1, 4, 6), (1, 4, 2, 2, 2), (1, 4, 3, 3), (1, 3, 4, 3), (1, 5, 5), (1, 5, 1, 2, 2)),
    },
}
"""How numbers with the trunk prefix or country code of long numbers are grouped; else the prefix makes a group of its own, or
the number is not grouped by it at all."""

PAIRS = {33: re.compile("0[67][0-9]{8}"), 84: re.compile("0[3789][0-9]{8}")}
"""Country code -> numbers written in pairs, as lottery numbers are."""

PAIRED = (2, 2, 2, 2, 2)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one region writes its numbers."""

    region: str
    country_code: int
    written: re.Pattern[str]
    """Test before the exact one, thirty times cheaper: digits as the region writes them."""

    @classmethod
    def of(cls, region: str) -> Plan:
        """Return the plan of an ISO 3166-1 region.

        Raises:
            ConfigurationError: There is no such region.
        """
        metadata = PhoneMetadata.metadata_for_region(region)
        if metadata is None or metadata.country_code is None:
            raise ConfigurationError(
                f"{region!r} is no region with telephone numbers (ISO 3166-1 alpha-2, such as 'VN')."
            )
        code, trunk = metadata.country_code, metadata.national_prefix
        described = (getattr(metadata, kind) for kind in (["general_desc"] if code == NANP else KINDS))
        national = "|".join(each.national_number_pattern for each in described if each and each.national_number_pattern)
        prefixed = rf"(?:{trunk or code}|{code})({national})"
        bare = rf"|({BARE[code]})" if code in BARE else ""
        return cls(region=region, country_code=code, written=re.compile(prefixed + bare))

    def assigns(self, window: Window) -> bool:
        """Tell whether a number of the region, or of one that shares its country code, reads as this window."""
        written = self.written.fullmatch(window.digits)
        if written is None:
            return False
        prefixed = written[1] is not None
        if not (window.spelled_out or (self.groups(window) if prefixed else self.bare_groups(window))):
            return False
        national = int(next(filter(None, written.groups())))
        number = PhoneNumber(country_code=self.country_code, national_number=national)
        if self.country_code != NANP:
            return phonenumbers.is_valid_number_for_region(number, self.region)
        return phonenumbers.is_valid_number(number)

    def bare_groups(self, window: Window) -> bool:
        """Tell numbers without any prefix from other numbers, by their groups and by what else stands in the row."""
        return window.sizes in BARE_GROUPS.get(self.country_code, ()) and not window.crowd

    def groups(self, window: Window) -> bool:
        """Tell telephone numbers from lottery numbers (pairs only), prices (thousands) and columns of other numbers."""
        first, *others = window.sizes
        if max(window.sizes) <= 2:
            pairs = PAIRS.get(self.country_code)
            return (
                pairs is not None
                and window.sizes == PAIRED
                and not window.crowd
                and pairs.fullmatch(window.digits) is not None
            )
        if self.country_code in PREFIXED_GROUPS:
            return window.sizes in PREFIXED_GROUPS[self.country_code]
        if window.digits[0] != "0" and others and first not in (len(str(self.country_code)), 4):
            return False
        return not (len(others) > 1 and set(others) == {3} and first <= 3 and window.digits[0] != "0")  # 1 250 000
