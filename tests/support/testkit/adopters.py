"""Agents as applications have them, by name."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, hook_config
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain.tools import InjectedToolCallId
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict  # typing's own has no schema before Python 3.12

from discreet.checkpoint import KEEP, REDACT, CheckpointPolicy
from testkit.adopting import (
    Adopter,
    Agent,
    Said,
    Turn,
    adopted,
    answer,
    call,
    has_sent,
    human,
    mail_in,
    play,
    sends,
    warnings_told,
)

SYSTEM = "You help customers. END."


def agent_of(
    agent: Agent, *, middleware: list[Any] | None = None, tools: list[Any] | None = None, **options: Any
) -> Any:
    """Return an agent whose middleware stands before ours, unless `middleware` has ours in a place of its own."""
    return create_agent(
        agent.llm,
        agent.tools() if tools is None else tools,
        system_prompt=SYSTEM,
        middleware=agent.memory if middleware is None else middleware,
        checkpointer=agent.checkpointer,
        **options,
    )


def introduction(said: Said) -> dict[str, Any]:
    return human(1, f"Hi, I'm Ann. My e-mail is {said.mail} and my card is {said.card} , call {said.phone} if need be.")


def plain_turns(said: Said) -> list[Turn]:
    return [
        Turn(introduction(said), [call("find_customer", 1, name="Ann"), sends(1), has_sent]),
        Turn(human(2, "Send it there again, and what was my card?"), [sends(2), lambda seen: answer(seen[-4].text)]),
        Turn(human(3, f"Copy {said.other_mail} too."), [has_sent]),
    ]


# --- Approvals


def approving(agent: Agent) -> Any:
    waits = HumanInTheLoopMiddleware(interrupt_on={"send": True}, description_prefix="May I?")
    return agent_of(agent, middleware=[waits, *agent.memory])


def decided(decision: Callable[[Said], dict[str, Any]]) -> Callable[[Said], list[Turn]]:
    """Return turns in which a tool runs, another call waits, the answer comes, and a turn follows."""

    def turns(said: Said) -> list[Turn]:
        resume: Command[Any] = Command(resume={"decisions": [decision(said)]})
        return [
            Turn(introduction(said), [call("find_customer", 1, name="Ann"), sends(1)]),
            Turn(resume, [has_sent]),
            Turn(human(2, "Thanks. Where did it go?"), [has_sent]),
        ]

    return turns


def edited(said: Said) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": "send", "args": {"to": said.other_mail, "text": "Hi"}}}


def asking(agent: Agent) -> Any:
    @tool
    def send(to: str, text: str) -> str:
        """Send an e-mail, if a person says yes."""
        agent.got.append({"asked": to})
        said = interrupt({"question": f"Send it to {to}?", "to": to})
        agent.got.append({"send": to, "on": said})
        return f"Sent to {to}, on {said}."

    return agent_of(agent, tools=[agent.tools()[0], send])


def asked_turns(said: Said) -> list[Turn]:
    return [
        Turn(introduction(said), [call("find_customer", 1, name="Ann"), sends(1)]),
        Turn(Command(resume=f"yes, with {said.other_mail} in copy"), [has_sent]),
        Turn(human(2, "Thanks."), [has_sent]),
    ]


# --- Pictures and files


def media_turns(*blocks: Callable[[Said], dict[str, Any]]) -> Callable[[Said], list[Turn]]:
    def turns(said: Said) -> list[Turn]:
        text = {"type": "text", "text": f"My e-mail is {said.mail} and this is the invoice."}
        return [Turn(human(1, [text, *(block(said) for block in blocks)]), [sends(1), has_sent])]

    return turns


MEDIA: dict[str, Callable[[Said], dict[str, Any]]] = {
    "image": lambda said: {"type": "image", "base64": said.png, "mime_type": "image/png"},
    "image url": lambda said: {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{said.png}"}},
    "file": lambda said: {
        "type": "file",
        "base64": said.pdf,
        "mime_type": "application/pdf",
        "filename": "invoice.pdf",
    },
}


# --- Structured answers


def _checked(mail: str) -> str:
    if not re.fullmatch(r"[\w.]+@[\w.]+\.\w+", mail):
        raise ValueError("no e-mail address")
    return mail


class Guest(BaseModel):
    card: str = Field(pattern=r"^\d{4} \d{4} \d{4} \d{4}$")


class Booking(BaseModel):
    """A table that was booked."""

    mail: str
    guests: list[Guest]
    seats: int = Field(gt=0)

    _mail = field_validator("mail")(_checked)


@dataclass
class Receipt:
    """A receipt that was sent."""

    mail: str
    seats: int

    def __post_init__(self) -> None:
        _checked(self.mail)


class Note(TypedDict):
    """A note that was taken."""

    mail: str
    seats: NotRequired[int]


def booking(said: Said) -> dict[str, Any]:
    return {"mail": said.mail, "guests": [{"card": said.card}], "seats": 2}


def receipt(said: Said) -> dict[str, Any]:
    return {"mail": said.mail, "seats": 2}


def structured(strategy: Any, schema: type, fields: Callable[[Said], dict[str, Any]]) -> Adopter:
    def turns(said: Said) -> list[Turn]:
        if strategy is ToolStrategy:
            replies = [call(schema.__name__, turn, **fields(said)) for turn in (1, 2)]
        else:
            replies = [AIMessage(json.dumps(fields(said))) for _ in range(2)]
        return [Turn(introduction(said), [replies[0]]), Turn(human(2, "Book it again."), [replies[1]])]

    return Adopter(lambda agent: agent_of(agent, response_format=strategy(schema)), turns)


STRUCTURED: dict[str, tuple[Adopter, Callable[[Said], Any]]] = {
    "tool, pydantic": (structured(ToolStrategy, Booking, booking), lambda said: Booking(**booking(said))),
    "provider, pydantic": (structured(ProviderStrategy, Booking, booking), lambda said: Booking(**booking(said))),
    "tool, dataclass": (structured(ToolStrategy, Receipt, receipt), lambda said: Receipt(**receipt(said))),
    "provider, dataclass": (structured(ProviderStrategy, Receipt, receipt), lambda said: Receipt(**receipt(said))),
    "tool, TypedDict": (structured(ToolStrategy, Note, receipt), receipt),
    "provider, TypedDict": (structured(ProviderStrategy, Note, receipt), receipt),
}


# --- Agents within agents


def with_expert(agent: Agent) -> Any:
    expert = create_agent(
        agent.model("expert", lambda seen: answer(f"The customer can be reached: {mail_in(seen)}")),
        [],
        system_prompt="You know customers. END.",
    )

    @tool
    async def ask_expert(question: str) -> str:
        """Ask an agent that knows customers."""
        agent.got.append({"ask_expert": question})
        result = await expert.ainvoke({"messages": [HumanMessage(question, id="m-expert")]})
        return str(result["messages"][-1].text)

    return agent_of(agent, tools=[ask_expert, *agent.tools()])


def expert_turns(said: Said) -> list[Turn]:
    return [
        Turn(
            introduction(said),
            [
                lambda seen: call("ask_expert", 1, question=f"Whose e-mail is {mail_in(seen)} in fact?"),
                lambda seen: answer(f"The expert said: {seen[-1].text}"),
            ],
        ),
        Turn(human(2, "Send it there."), [sends(2), has_sent]),
    ]


def within_graph(agent: Agent) -> Any:
    """Return a graph whose other nodes read what was said, with the agent as a node of it."""

    def read(state: MessagesState) -> None:
        agent.got.append({"node": [(each.type, each.text) for each in state["messages"] if each.type == "human"]})

    inner = create_agent(agent.llm, agent.tools(), system_prompt=SYSTEM, middleware=agent.memory)
    builder = StateGraph(MessagesState)
    builder.add_node("before", read)
    builder.add_node("agent", inner)
    builder.add_node("after", read)
    builder.add_edge(START, "before")
    builder.add_edge("before", "agent")
    builder.add_edge("agent", "after")
    return builder.compile(checkpointer=agent.checkpointer)


# --- State of one's own


class Shop(AgentState[Any]):
    cart: NotRequired[list[str]]
    locale: NotRequired[str]


def shop(agent: Agent) -> Any:
    @tool
    def add_to_cart(item: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Add something to the cart."""
        agent.got.append({"add_to_cart": item})
        get_stream_writer()({"progress": f"{item} for {agent.said.mail}"})
        return Command(
            update={"cart": [item], "messages": [ToolMessage(f"{item} is in the cart.", tool_call_id=call_id)]}
        )

    return agent_of(agent, tools=[add_to_cart, *agent.tools()], state_schema=Shop)


def shop_turns(said: Said) -> list[Turn]:
    given = introduction(said)
    item = f"a mug for {said.mail}"
    return [
        Turn(given | {"locale": "vi-VN"}, [call("add_to_cart", 1, item=item), has_sent]),
        Turn(human(2, "What do I have?"), [answer("A mug.")]),
    ]


# --- Others


class Browser(AgentMiddleware[Any, Any]):
    """Ends a run at the call of a tool that the browser runs."""

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "end"} if any(c["name"] == "scroll" for c in state["messages"][-1].tool_calls) else None


def browser_turns(said: Said) -> list[Turn]:
    shown = ToolMessage(f"The page shows {said.tool_mail}", tool_call_id="call-1-scroll", id="m-2")
    return [
        Turn(introduction(said), [lambda seen: call("scroll", 1, to=mail_in(seen))]),
        Turn({"messages": [shown]}, [lambda seen: answer(f"{seen[-1].text}, beside {mail_in(seen)}")]),
        Turn(human(3, "Thanks"), [has_sent]),
    ]


def chat_turns(count: int, *, long: int = 0) -> Callable[[Said], list[Turn]]:
    """Return turns without tools; each eighth message has `long` characters more."""

    def turns(said: Said) -> list[Turn]:
        more = (f"{said.mail} is where it went, word {at}. " for at in range(10**6))
        told = [Turn(introduction(said), [has_sent])]
        for at in range(2, count + 1):
            text = f"This is number {at}, tell {said.other_mail} too."
            while at % 8 == 0 and len(text) < long:
                text += next(more)
            told.append(
                Turn(human(at, text), [answer(f"Number {at}: {said.other_mail} knows, and {said.phone} as well.")])
            )
        return told

    return turns


def edited_turns(said: Said) -> list[Turn]:
    """Return turns of a client that changes a message of its own, and takes one back."""
    again = HumanMessage(f"My e-mail is {said.other_mail} in fact.", id="m-1")
    return [
        Turn(introduction(said), [has_sent]),
        Turn({"messages": [again, HumanMessage("And now?", id="m-2")]}, [has_sent]),
        Turn({"messages": [RemoveMessage(id="m-2"), HumanMessage("And then?", id="m-3")]}, [has_sent]),
    ]


ADOPTERS: dict[str, Adopter] = {
    "tools": Adopter(agent_of, plain_turns),
    "no system prompt": Adopter(
        lambda agent: create_agent(agent.llm, agent.tools(), middleware=agent.memory, checkpointer=agent.checkpointer),
        plain_turns,
    ),
    "approve": Adopter(approving, decided(lambda said: {"type": "approve"})),
    "edit": Adopter(approving, decided(edited)),
    "reject": Adopter(
        approving, decided(lambda said: {"type": "reject", "message": f"No, {said.other_mail} is the one."})
    ),
    "interrupt in a tool": Adopter(asking, asked_turns),
    **{name: Adopter(agent_of, media_turns(block)) for name, block in MEDIA.items()},
    "image and file": Adopter(agent_of, media_turns(MEDIA["image"], MEDIA["file"])),
    **{name: adopter for name, (adopter, _) in STRUCTURED.items()},
    "agent as a tool": Adopter(with_expert, expert_turns),
    "agent as a node": Adopter(within_graph, plain_turns),
    "own channels, named": Adopter(shop, shop_turns, CheckpointPolicy(channels={"cart": REDACT, "locale": KEEP})),
    "own channels, one turn": Adopter(shop, lambda said: shop_turns(said)[:1]),
    "own channels, unnamed": Adopter(shop, shop_turns),
    "tool of the browser": Adopter(lambda agent: agent_of(agent, middleware=[*agent.memory, Browser()]), browser_turns),
    "edited messages": Adopter(agent_of, edited_turns),
}


async def in_process(dsn: str, name: str, seed: str, thread: str, *only: str) -> None:
    """Play some turns of an adopter in a process of its own, and print as JSON what was seen and warned of."""
    said = Said(seed=int(seed))
    said.thread = thread
    with warnings_told() as warnings:
        async with adopted(dsn, ADOPTERS[name].policy) as (saver, memory, _):
            shown = await play(ADOPTERS[name], said, saver, memory, only=[int(each) for each in only])
    json.dump([*shown[:-1], warnings], sys.stdout)
