"""What goes into the state and what comes out of the vault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from discreet.nodes.masking import TurnMask
from discreet.nodes.run import run_of
from discreet.redaction import InMemoryTurnVault, Redactor

EMAIL = "ann@example.com"
PARTS = st.lists(
    st.sampled_from([EMAIL, "+84 912 345 678", "hello", "привет", "你好", "<EMAIL:AAAAAAAA>", '"', "\\", "\n"])
)


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def mask():
    return TurnMask(redactor=Redactor(placeholder_key=bytes(32)), vault=InMemoryTurnVault())


async def masked(mask, *messages):
    said = HumanMessage("hello", id="m1")
    turn = await mask.turn([said])
    return await turn.masked(messages), await mask.turn([said])


async def test_a_model_gets_its_own_message_back_to_the_letter(mask):
    blocks = [
        {"type": "thinking", "thinking": f"about {EMAIL}", "signature": "sig" * 300},
        {"type": "text", "text": "ok"},
    ]
    call = {"name": "send", "args": {"to": [EMAIL], "n": 1}, "id": "call_9f8e7d6c5b4a", "type": "tool_call"}
    message = AIMessage(
        blocks, id="a1", tool_calls=[call], additional_kwargs={"k": EMAIL}, response_metadata={"x": EMAIL}
    )
    (copy,), later = await masked(mask, message)
    assert EMAIL not in copy.model_dump_json()
    assert copy.tool_calls[0]["id"] == "call_9f8e7d6c5b4a"
    (real,) = later.real([copy])
    for name in ("content", "tool_calls", "additional_kwargs", "response_metadata", "id"):
        assert getattr(real, name) == getattr(message, name)


async def test_a_long_result_stands_shortened_and_is_given_whole(mask):
    message = ToolMessage("x " * 10_000 + EMAIL, id="t1", tool_call_id="c1", artifact={"mail": EMAIL})
    (copy,), later = await masked(mask, message)
    assert len(copy.text) <= 1_002
    assert EMAIL not in repr(copy)
    assert later.real([copy])[0].content == message.content


@pytest.mark.parametrize("lost", [True, False])
async def test_arguments_that_name_a_placeholder_get_its_value_while_it_is_held(mask, lost):
    said = HumanMessage(f"I am {EMAIL}", id="m1")
    turn = await mask.turn([said])
    (copy,) = await turn.masked([said])
    placeholder = copy.text.removeprefix("I am ")
    if lost:
        mask.vault.drop(next(iter(mask.vault._turns)))
    call = AIMessage("", id="a1", tool_calls=[{"name": "send", "args": {"to": [placeholder]}, "id": "c1"}])
    (real,) = (await mask.turn([said])).real([call])
    assert real.tool_calls[0]["args"] == {"to": [placeholder if lost else EMAIL]}


async def test_a_forged_tag_in_what_the_user_says_is_dropped(mask):
    (copy,) = await (await mask.turn([said := HumanMessage("give me <EMAIL:I77NUSRH>", id="m1")])).masked([said])
    assert copy.text == "give me <EMAIL>"


async def test_turns_of_other_threads_and_messages_know_nothing(mask):
    (copy,), _ = await masked(mask, HumanMessage(f"I am {EMAIL}", id="m2"))
    other = await mask.turn([HumanMessage("hello", id="another")])
    assert other.resolved(copy) == copy


RUN = run_of({"thread_id": "1", "user_id": "ann"})
SAID = [HumanMessage(f"I am {EMAIL}", id="m1")]


async def said_and_answered(mask, run=RUN, answer="Noted."):
    """Play a turn; return what stands in the state."""
    turn = await mask.turn(SAID, run=run)
    copies = await turn.masked(
        [*SAID, ToolMessage("from eve@example.org", id="t1", tool_call_id="c"), AIMessage(answer)]
    )
    await turn.end([copies[0], copies[-1]])
    return [copies[0], copies[-1]]


async def test_the_next_turn_of_the_thread_knows_what_the_conversation_shows_and_no_more(mask):
    kept = await said_and_answered(mask)
    later = await mask.turn([*kept, HumanMessage("Send it there.", id="m2")], run=RUN)
    assert later.real(kept)[0].text == f"I am {EMAIL}"
    assert later.resolved({"to": [kept[0].text[5:]]}) == {"to": [EMAIL]}
    held = [turn.values for turn in mask.vault._turns.values()]
    assert held == [{kept[0].text[5:]: EMAIL}]


async def test_no_other_thread_gets_a_value(mask):
    kept = await said_and_answered(mask)
    other = run_of({"thread_id": "2", "user_id": "ann"})
    later = await mask.turn([*kept, HumanMessage("And?", id="m2")], run=other)
    assert later.real(kept) == kept


async def test_values_end_with_the_vaults_time_after_the_last_turn_and_an_open_turn_keeps_them(mask):
    clock = Clock()
    mask = TurnMask(redactor=mask.redactor, vault=InMemoryTurnVault(ttl=60, clock=clock), pause=600)
    kept = await said_and_answered(mask)
    clock.now += 59
    waiting = [*kept, HumanMessage("Send it there.", id="m2")]
    await (await mask.turn(waiting, run=RUN)).masked(waiting)
    clock.now += 600
    paused = await mask.turn(waiting, run=RUN)
    assert paused.real(kept)[0].text == f"I am {EMAIL}"
    await paused.end([waiting[-1]])
    clock.now += 61
    assert (await mask.turn(waiting, run=RUN)).real(kept) == kept


async def test_a_message_that_somebody_changed_in_the_state_is_not_changed_back(mask):
    call = {"name": "send", "args": {"to": EMAIL}, "id": "c1", "type": "tool_call"}
    turn = await mask.turn(SAID, run=RUN)
    said, asked = await turn.masked([*SAID, AIMessage("", id="a1", tool_calls=[call])])
    changed = asked.model_copy(update={"tool_calls": [{**call, "args": {"to": said.text[5:], "copy": "boss"}}]})
    later = await mask.turn([said, changed], run=RUN)
    assert later.real([changed])[0].tool_calls[0]["args"] == {"to": EMAIL, "copy": "boss"}


class Contact(BaseModel):
    email: str
    age: int
    card: int = 0


async def test_an_object_is_masked_as_the_kind_that_it_is_and_comes_back(mask):
    turn = await mask.turn(SAID, run=RUN)
    contact = Contact(email=EMAIL, age=41, card=4111111111111111)
    masked = await turn.masked_value({"contact": contact, "other": Contact(email="none", age=1)}, trusted=True)
    assert EMAIL not in repr(masked)
    assert "4111" not in repr(masked)
    assert turn.resolved(masked)["contact"] == contact


async def test_other_messages_are_redacted_too(mask):
    (copy,), _ = await masked(mask, SystemMessage(f"the user is {EMAIL}", id="s1"))
    assert EMAIL not in repr(copy)
    assert copy.id == "s1"


@pytest.mark.slow
@given(parts=PARTS)
async def test_what_is_masked_has_no_value_and_comes_back_whole(parts):
    mask = TurnMask(redactor=Redactor(placeholder_key=bytes(32)), vault=InMemoryTurnVault())
    text = " ".join(parts)
    messages = [
        HumanMessage(text, id="m2"),
        AIMessage(text, id="a1", tool_calls=[{"name": "t", "args": {"x": {"y": [text]}}, "id": "c"}]),
        ToolMessage(text, id="t1", tool_call_id="c"),
    ]
    copies, later = await masked(mask, *messages)
    assert not any(value in copy.model_dump_json() for copy in copies for value in (EMAIL, "912 345"))
    assert [m.content for m in later.real(copies)] == [text] * 3
    assert later.real(copies)[1].tool_calls == messages[1].tool_calls
