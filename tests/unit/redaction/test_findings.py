import pytest

from discreet.redaction import Finding
from discreet.redaction.findings import merge


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([], []),
        ([("B", 5, 9), ("A", 0, 4)], [("A", 0, 4), ("B", 5, 9)]),
        ([("A", 0, 4), ("B", 4, 9)], [("A", 0, 4), ("B", 4, 9)]),
        ([("A", 0, 4), ("B", 2, 9)], [("B", 0, 9)]),
        ([("A", 0, 9), ("B", 2, 4)], [("A", 0, 9)]),
        ([("B", 0, 4), ("A", 2, 6)], [("B", 0, 6)]),
        ([("A", 0, 9), ("SECRET", 2, 4), ("B", 8, 30)], [("SECRET", 0, 30)]),
        ([("A", 0, 3), ("B", 2, 5), ("C", 4, 9)], [("C", 0, 9)]),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_overlapping_findings_are_united_under_the_strongest_type(findings, expected, order):
    given = [Finding(*each) for each in findings][::order]
    assert merge(given) == [Finding(*each) for each in expected]
