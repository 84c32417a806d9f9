"""What users send: messages of many kinds, with content of many kinds."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    ToolMessage,
)

from leak_battery.agents import plain_agent
from leak_battery.play import Scenario
from leak_battery.scenes import Scene, user_message


class Confession(HumanMessage):
    """A user's message with a field of its own."""

    secret: str = ""


def odd(scene: Scene) -> dict[str, Any]:
    """Return a user's message among messages of rare kinds.

    With durability "exit" a saver doesn't see what came in, so that a human message behind others may be a node's: there the
    user's is the first.
    """
    said = HumanMessageChunk(scene.said(), additional_kwargs={"note": scene.raw("chunkkwargs")})
    others: list[BaseMessage] = [
        ChatMessage(scene.raw("chatmessage"), role=scene.raw("chatrole")),
        FunctionMessage(scene.raw("functionmessage"), name=scene.raw("functionname")),
        AIMessage(scene.raw("givenplan"), tool_calls=[{"name": "f", "args": {}, "id": scene.raw("givenid")}]),
        ToolMessage(scene.raw("givenresult"), tool_call_id=scene.raw("givenid")),
    ]
    if scene.durability == "exit":
        return {"messages": [said, *others]}
    return {"messages": [Confession(scene.text("confession"), secret=scene.raw("subclassfield")), *others, said]}


def pairs(scene: Scene) -> dict[str, Any]:
    """Return a user's message as callers of the HTTP API send it."""
    return {
        "messages": [
            {"role": "system", "content": scene.raw("systemprompt")},
            {
                "role": "user",
                "content": scene.said(),
                "id": scene.message_id("messageid"),
                "name": scene.raw("messagename"),
            },
        ]
    }


def media(scene: Scene) -> dict[str, Any]:
    """Return a user's message with content blocks of many kinds around its text."""
    blocks = [
        {"type": "text", "text": scene.said(), "extras": {"note": scene.raw("textextra")}},
        {"type": "image", "base64": scene.raw("imagedata"), "mime_type": "image/png", "id": scene.raw("imageid")},
        {"type": "image_url", "image_url": {"url": f"https://{scene.raw('imageurl')}.example/a.png"}},
        {"type": "audio", "url": scene.raw("audiourl")},
        {"type": "file", "file_id": scene.raw("fileid"), "extras": {"name": scene.raw("filename")}},
        {"type": "input_audio", "input_audio": {"data": scene.raw("audiodata"), "format": "wav"}},
        {"type": "text-plain", "text": scene.raw("plaintextfile")},
        {"type": "non_standard", "value": {"note": scene.raw("nonstandard")}},
    ]
    return {"messages": [HumanMessage(blocks)]}


def unstorable(scene: Scene) -> dict[str, Any]:
    """Return a user's message that PostgreSQL can't hold as it is: it would quote the text in its log."""
    message = user_message(scene)["messages"][0]
    return {"messages": [HumanMessage(f"\0{message.content} \ud800", name=scene.raw("messagename"))]}


SCENARIOS = {
    "odd messages": Scenario(build=plain_agent, message=odd),
    "pairs": Scenario(build=plain_agent, message=pairs),
    "media": Scenario(build=plain_agent, message=media),
    "unstorable": Scenario(build=plain_agent, message=unstorable),
}
