"""No tool runs with a placeholder in the place of a value."""

import pytest
from langchain_core.tools import tool
from langgraph.prebuilt.tool_node import ToolCallRequest

from discreet.errors import UnresolvedPlaceholderError
from discreet.nodes.tools import MemorySave
from discreet.nodes.tools.errors import PLACEHOLDERS, check_arguments
from discreet.redaction import Redactor
from discreet.testing import InMemoryMemories


class Foreign:
    def redact(self, text):
        return text


@tool
def send(to: str) -> str:
    """Send a message."""
    return to


def request(args, of=send):
    return ToolCallRequest(tool_call={"name": "send", "args": args, "id": "c1"}, tool=of, state={}, runtime=None)


@pytest.mark.parametrize("redactor", [Redactor(), Foreign()])
@pytest.mark.parametrize(
    ("args", "kinds"),
    [
        ({"to": "<EMAIL:7K2QX3MD>"}, ("EMAIL",)),
        ({"to": "<EMAIL>"}, ("EMAIL",)),
        ({"to": "token <SECRET>"}, ("SECRET",)),
        ({"to": {"deep": ["call <PHONE>", {"<EMAIL:7K2QX3MD>": 1}]}}, ("EMAIL", "PHONE")),
        ({"to": "<SHOE_SIZE:7K2QX3MD>"}, ("SHOE_SIZE",)),
    ],
)
def test_a_placeholder_anywhere_is_refused_and_its_type_is_told(redactor, args, kinds):
    with pytest.raises(UnresolvedPlaceholderError) as refusal:
        check_arguments(request(args), redactor)
    assert refusal.value.kinds == kinds
    assert "7K2QX3MD" not in str(refusal.value)


@pytest.mark.parametrize("text", ["a < b > c", "<b>bold</b>", "<HTML>", "<email>", "EMAIL", "ann@example.com"])
def test_what_is_none_is_let_through(text):
    check_arguments(request({"to": text, "n": 3}), Redactor())


def test_tools_that_take_them_are_let_through():
    mail_merge = send.model_copy(update={"metadata": {PLACEHOLDERS: True}})
    for takes in (mail_merge, MemorySave(memories=InMemoryMemories())):
        check_arguments(request({"to": "<EMAIL>"}, takes), Redactor())
    with pytest.raises(UnresolvedPlaceholderError):
        check_arguments(request({"to": "<EMAIL>"}, None), Redactor())
