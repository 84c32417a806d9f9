"""Visitors of the playground."""

from discreet.api.playground import visitors
from discreet.api.playground.turn import Turn
from discreet.api.playground.visitors import Conversation, Visitors
from discreet.api.playground.words import people


def test_the_session_can_not_be_told_from_the_user_and_no_two_have_the_same_user():
    all_of_them = Visitors()
    ids = {all_of_them.of(session).user_id for session in ("one", "other")}
    assert len(ids) == 2
    assert not any("one" in user_id or "other" in user_id for user_id in ids)


def test_who_was_away_longest_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(visitors, "MAX_VISITORS", 2)
    all_of_them = Visitors()
    first = all_of_them.of("first")
    all_of_them.of("second")
    assert all_of_them.of("first") is first
    all_of_them.of("third")
    assert all_of_them.of("first") is first
    assert len(all_of_them._visitors) == 2


def test_a_conversation_shows_its_newest_turns(monkeypatch):
    monkeypatch.setattr(visitors, "MAX_TURNS", 2)
    conversation = Conversation()
    for number in range(4):
        conversation.add(Turn(said=str(number)))
    assert [turn.said for turn in conversation.turns] == ["2", "3"]


def test_each_person_has_a_conversation_of_their_own():
    visitor = Visitors().of("session")
    ann = visitor.conversation
    visitor.person = people()[1]
    assert visitor.conversation is not ann
    visitor.person = people()[0]
    assert visitor.conversation is ann
    visitor.begin_anew()
    assert visitor.conversation is not ann


def test_what_was_said_is_in_no_representation():
    visitor = Visitors().of("session")
    visitor.conversation.add(Turn(said="private"))
    assert "private" not in repr(visitor) + repr(visitor.conversation) + repr(visitor.conversation.last)
