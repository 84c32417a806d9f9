"""Lists of JSON are read element by element, wherever pieces of the file end."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ImportSourceError
from discreet.importing.sources.reading.texts import elements

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class _Slow(io.StringIO):
    """Hands out a few characters at a time."""

    def read(self, size=-1):
        return super().read(min(size, 3) if size > 0 else size)


@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 1]))
def test_all_elements_come_as_they_are(values, indent):
    written = json.dumps(values, indent=indent, ensure_ascii=False)
    found = list(elements(_Slow(f"\n {written} \n")))
    assert [value for _, value in found] == values
    assert [json.loads(said) for said, _ in found] == values


@pytest.mark.parametrize("text", ["", "{}", "[1", "[1,", "[1 2]", "[1,]", "[1] 2", '["a', "[" * 5_000])
def test_what_is_no_list_is_refused_after_what_stands_before(text):
    with pytest.raises(ImportSourceError):
        list(elements(_Slow(text)))


def test_a_list_that_breaks_off_yields_what_stands_before():
    reading = elements(_Slow('[{"a": 1}, {"a": 2}, {"a":'))
    assert [next(reading)[1], next(reading)[1]] == [{"a": 1}, {"a": 2}]
    with pytest.raises(ImportSourceError, match="after 2 entries"):
        next(reading)
