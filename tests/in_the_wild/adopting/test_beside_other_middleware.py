"""Other middleware before, behind and around ours: it sees what it saw before, and what it changes is changed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    dynamic_prompt,
)
from langchain_core.messages import RemoveMessage, trim_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from testkit.adopters import agent_of, chat_turns, decided, plain_turns
from testkit.adopting import Adopter, Agent, Said, Turn, answer, dialogue


class Spy(AgentMiddleware[Any, Any]):
    """Reads what is said wherever a middleware may."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def _note(self, where: str, messages: Any) -> None:
        self._agent.got.append({where: dialogue(messages)})

    def before_agent(self, state: Any, runtime: Any) -> None:
        self._note("before agent", state["messages"])

    def before_model(self, state: Any, runtime: Any) -> None:
        self._note("before model", state["messages"])

    def after_model(self, state: Any, runtime: Any) -> None:
        self._note("after model", state["messages"])

    def after_agent(self, state: Any, runtime: Any) -> None:
        self._note("after agent", state["messages"])

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        self._note("asked", request.messages)
        response = await handler(request)
        self._note("answered", response.result)
        return response

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = await handler(request)
        self._agent.got.append({"called": request.tool_call["args"], "result": result.content})
        return result


class Trim(AgentMiddleware[Any, Any]):
    """Has the newest messages stay in the state."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *newest(state["messages"])]}


class TrimCall(AgentMiddleware[Any, Any]):
    """Sends the newest messages."""

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(messages=newest(request.messages)))


def newest(messages: list[Any]) -> list[Any]:
    return trim_messages(messages, strategy="last", token_counter=len, max_tokens=4, start_on="human")


@dynamic_prompt
def quoting(request: Any) -> str:
    return f"They wrote: {request.messages[0].text} END."


def summaries(agent: Agent) -> SummarizationMiddleware:
    model = agent.model("summary", lambda seen: answer(f"{agent.said.mail} and {agent.said.other_mail} were told."))
    return SummarizationMiddleware(model, trigger=("messages", 5), keep=("messages", 2))


def limited(said: Said) -> list[Turn]:
    """Return turns of which the third may not call the model any more."""
    return [*chat_turns(2)(said), chat_turns(3)(said)[2]._replace(replies=[])]


Others = Callable[[Agent], AgentMiddleware[Any, Any]]

OTHERS: dict[str, tuple[Others, Callable[[Said], list[Turn]]]] = {
    "reads all": (Spy, plain_turns),
    "summarises": (summaries, chat_turns(6)),
    "limits calls": (lambda agent: ModelCallLimitMiddleware(thread_limit=2), limited),
    "hides e-mails": (
        lambda agent: PIIMiddleware("email", apply_to_output=True, apply_to_tool_results=True),
        chat_turns(3),
    ),
    "hides cards of the prompt": (lambda agent: PIIMiddleware("credit_card"), plain_turns),
    "clears tool results": (
        lambda agent: ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)]),
        plain_turns,
    ),
    "makes the prompt": (lambda agent: quoting, plain_turns),
    "trims the state": (lambda agent: Trim(), chat_turns(5)),
    "trims the prompt": (lambda agent: TrimCall(), chat_turns(5)),
}


@pytest.mark.parametrize("is_first", [True, False], ids=["before ours", "behind ours"])
@pytest.mark.parametrize("name", OTHERS)
async def test_other_middleware_does_what_it_did(pair, name, is_first):
    make, turns = OTHERS[name]

    def build(agent: Agent) -> Any:
        other = make(agent)
        return agent_of(agent, middleware=[other, *agent.memory] if is_first else [*agent.memory, other])

    before, after, said = await pair(Adopter(build, turns))
    assert after.differences(before) == {}
    assert said.on_disk(files=False) == {}


@pytest.mark.parametrize("order", list(permutations(["ours", "approval", "spy"])), ids=" ".join)
async def test_the_order_of_the_middleware_does_not_matter(pair, order):
    def build(agent: Agent) -> Any:
        made = {
            "ours": agent.memory,
            "approval": [HumanInTheLoopMiddleware(interrupt_on={"send": True})],
            "spy": [Spy(agent)],
        }
        return agent_of(agent, middleware=[each for name in order for each in made[name]])

    edit = decided(
        lambda said: {"type": "edit", "edited_action": {"name": "send", "args": {"to": said.other_mail, "text": "Hi"}}}
    )
    before, after, said = await pair(Adopter(build, edit))
    assert after.differences(before) == {}
    assert said.on_disk(files=False) == {}
