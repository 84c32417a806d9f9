from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet.checkpoint import CheckpointPolicy
from discreet.checkpoint.filter import filter_checkpoint
from discreet.checkpoint.messages import Turn
from discreet.checkpoint.scratch_serializer import ScratchSerializer
from discreet.checkpoint.stored_messages import KnownMessages, StoredMessages


class CountingRedactor:
    def __init__(self):
        self.texts = []

    def redact(self, text):
        self.texts.append(text)
        return f"<{text}>"


def conversation(turns):
    return [
        kind(f"{kind.__name__} {turn}", id=f"{kind.__name__}{turn}")
        for turn in range(turns)
        for kind in (HumanMessage, AIMessage)
    ]


def test_stored_messages_are_recognised_at_the_front_of_a_longer_list():
    stored = conversation(3)
    assert StoredMessages(stored).prefix([*stored, HumanMessage("new")], unchanged=True) == 6
    assert StoredMessages(stored).prefix(stored[:2], unchanged=True) == 2
    assert StoredMessages(stored).prefix(stored[2:], unchanged=True) == 0


def test_a_message_changed_in_place_is_not_taken_for_the_stored_one():
    stored = conversation(3)
    known = StoredMessages(stored)
    stored[3].content = "raw"
    assert known.prefix(stored, unchanged=True) == 3


def test_equal_messages_are_stored_ones_though_a_client_has_made_them_anew():
    assert StoredMessages(conversation(2)).prefix(conversation(2), unchanged=True) == 4
    edited = [*conversation(2)[:3], AIMessage("other", id="AIMessage1")]
    assert StoredMessages(conversation(2)).prefix(edited, unchanged=True) == 3
    assert StoredMessages(conversation(2)).prefix(edited, unchanged=False) == 3


def test_a_text_is_redacted_once_however_many_checkpoints_hold_it():
    redactor, known = CountingRedactor(), KnownMessages()
    policy = CheckpointPolicy(redactor=redactor)
    stored, new = conversation(50), HumanMessage("new")
    known.note("", "messages", stored)
    for _ in range(3):
        values = {"messages": [*stored, new]}
        checkpoint = {
            "v": 4,
            "id": "1",
            "ts": "",
            "channel_values": values,
            "channel_versions": {},
            "versions_seen": {},
        }
        filtered = filter_checkpoint(checkpoint, policy, turn=Turn.OPEN, known=known).build()
        assert [m.text for m in filtered["channel_values"]["messages"]] == [*(m.text for m in stored), "<new>"]
    assert redactor.texts == ["new"]


def test_a_message_whose_text_has_changed_is_redacted_again():
    redactor, known = CountingRedactor(), KnownMessages()
    policy = CheckpointPolicy(redactor=redactor)
    message = HumanMessage("one")
    assert known.rebuild(message, policy).text == "<one>"
    message.content = "two"
    assert known.rebuild(message, policy).text == "<two>"


def test_an_id_given_later_is_not_forgotten():
    known, policy, message = KnownMessages(), CheckpointPolicy(redactor=CountingRedactor()), HumanMessage("hi")
    assert known.rebuild(message, policy).id is None
    message.id = "5a1c7a52-7f0b-5d7e-9d0e-0f6b8c2f4e12"
    assert known.rebuild(message, policy).id == message.id


def test_stored_messages_are_serialized_once_for_all():
    stored, known = conversation(500), KnownMessages()
    known.note("", "messages", stored)
    serde = ScratchSerializer(JsonPlusSerializer(), known)
    value = [*stored, HumanMessage("new", id="new")]
    data = serde.dumps_typed(value)
    assert len(data[1]) < 1000
    assert serde.loads_typed(data) == value


def test_lists_of_other_things_are_serialized_as_ever():
    serde = ScratchSerializer(JsonPlusSerializer(), KnownMessages())
    for value in ([], ["a"], conversation(1), {"a": 1}):
        assert JsonPlusSerializer().loads_typed(serde.dumps_typed(value)) == value


def test_what_is_stored_is_known_whatever_a_node_does_to_it():
    stored = conversation(1)
    known = StoredMessages(stored)
    stored[0].content = "raw"
    assert known.rows.copied() == conversation(1)
