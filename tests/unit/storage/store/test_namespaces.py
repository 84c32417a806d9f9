from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import InvalidNamespaceError

from discreet.errors import InvalidUserError
from discreet.state.ids import check_user_id
from discreet.storage.store.namespaces import item_key_of, labels_of, path_of, span_of, text_key_of

LABELS = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="."), min_size=1, max_size=5)
SPACES = st.lists(LABELS, max_size=4).map(tuple)


@given(SPACES)
def test_a_path_tells_its_labels(space):
    assert labels_of(path_of(space)) == space


@given(SPACES, SPACES)
def test_a_span_holds_what_is_below_and_nothing_else(space, prefix):
    low, high = span_of(prefix)
    # Compared byte by byte, as the database does.
    inside = low.encode() <= path_of(space).encode() < high.encode()
    assert inside is (space[: len(prefix)] == prefix)


@given(st.lists(SPACES, min_size=2))
def test_paths_sort_as_their_labels_do(spaces):
    by_path = sorted(spaces, key=lambda space: path_of(space).encode())
    assert by_path == sorted(spaces, key=lambda space: [label.encode() for label in space])


@given(SPACES)
def test_no_user_has_the_id_of_a_namespace(space):
    with pytest.raises(InvalidUserError):
        check_user_id(path_of(space))


@pytest.mark.parametrize("label", ["", "a.b", "\x1f", "\0", "a\nb", "\x7f", "\x85", "\ud800", 7, None])
def test_a_label_that_cannot_be_one_is_refused(label):
    with pytest.raises(InvalidNamespaceError):
        path_of(("notes", label))


def test_labels_are_limited_in_bytes_together():
    assert path_of(("ж" * 999,))
    with pytest.raises(InvalidNamespaceError, match="2,000"):
        path_of(("ж" * 1_000,))


@given(st.text(), st.integers(0, 2**16 - 1))
def test_the_texts_of_an_item_are_side_by_side(key, position):
    key = key.encode("utf-8", "replace").decode()
    item_key = item_key_of(key)
    text_key = text_key_of(item_key, position)
    assert str(text_key)[:32] == str(item_key)[:32]
    assert UUID(int=item_key.int + position) == text_key
