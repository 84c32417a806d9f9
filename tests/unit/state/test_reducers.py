import pytest
from langchain_core.messages import HumanMessage

from discreet.errors import UnsupportedInputError
from discreet.state.conversation import append_messages


def test_messages_are_merged_by_id():
    merged = append_messages([HumanMessage("old", id="1")], [HumanMessage("new", id="1"), HumanMessage("next", id="2")])
    assert [m.content for m in merged] == ["new", "next"]


@pytest.mark.parametrize("bad", [42, [None], [object()], {"x": "secret-text"}, [["a"]], [{"role": "secret-text"}]])
def test_what_is_no_message_is_refused_without_repeating_it(bad):
    with pytest.raises(UnsupportedInputError) as caught:
        append_messages([], bad)
    assert "secret-text" not in str(caught.value)
    assert caught.value.__suppress_context__
