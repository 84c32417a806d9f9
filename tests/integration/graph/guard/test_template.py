"""The template under guard: the model reads what the request said, and everybody else placeholders."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.config import get_config
from langgraph.runtime import get_runtime
from prometheus_client import REGISTRY

from discreet.graph import build_graph
from discreet.graph.guard import guarded
from discreet.redaction import Redactor, resolve
from discreet.redaction.vault import InMemoryTurnVault
from discreet.state.context import Context
from discreet.state.request_ref import REQUEST_REF
from discreet.testing import ScriptedChatModel

KEY = "sk-" + "".join(secrets.choice("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(40))


@pytest.fixture
def template(server: Any) -> Callable[..., Any]:
    """Return what serves the template with a script, its nodes over the server's own vault."""

    def built(*responses: Any, **parts: Any) -> Any:
        model = ScriptedChatModel(responses=list(responses), profile={"image_inputs": True})
        vault, redactor = InMemoryTurnVault(), Redactor(placeholder_key=bytes(32))
        graph = build_graph(chat_model=model, vault=vault, redactor=redactor, **parts).compile(name="template")
        served = server(graph)
        served.vault, served.model = vault, model
        served.graph = guarded(graph, vault=vault, redactor=redactor).copy({"checkpointer": served.graph.checkpointer})
        return served

    return built


@pytest.mark.slow
async def test_the_model_reads_exactly_what_the_request_said(template: Any) -> None:
    said = f"I am ann@example.com, my key is {KEY}. Зовут Пётр, 我的电话 +86 138 0013 8000."
    served = template(AIMessage("Hello ann@example.com!"))
    served.request(input={"messages": [{"role": "user", "content": said}]})
    redacted = {"messages": [{"role": "user", "content": "I am <EMAIL:AAAAAAAA>, my key is <SECRET>."}]}
    events = [
        e async for e in served.graph.astream(redacted, served.config, stream_mode=["values", "messages", "debug"])
    ]
    assert served.model.prompts[0][-1].content == said
    assert not any(raw in repr(events) for raw in ("ann@example", KEY, "138 0013"))
    last = [payload for mode, payload in events if mode == "values"][-1]["messages"][-1]
    assert resolve(last.content, served.values()) == "Hello ann@example.com!"


async def test_an_image_of_the_request_reaches_the_model(template: Any) -> None:
    payload = base64.b64encode(b"\x89PNG\r\n\x1a\n" + secrets.token_bytes(3_000)).decode()
    blocks = [
        {"type": "text", "text": "What is this? Answer to ann@example.com"},
        {"type": "image", "base64": payload, "mime_type": "image/png", "caption": "A dog."},
    ]
    served = template(AIMessage("A dog."), AIMessage("A dog."))
    served.request(input={"messages": [{"role": "user", "content": blocks}]})
    redacted = {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}]}]}
    events = [e async for e in served.graph.astream(redacted, served.config, stream_mode=["values", "debug"])]
    assert {"type": "image", "base64": payload, "mime_type": "image/png"} in served.model.prompts[0][-1].content
    assert "ann@example.com" in str(served.model.prompts)
    assert payload[:40] not in repr(events)
    assert "ann@example.com" not in repr(events)


async def test_a_tool_gets_real_arguments_and_its_result_can_be_restored_for_the_owner(template: Any) -> None:
    got = []

    @tool
    def look_up(who: str) -> str:
        """Look somebody up."""
        got.append(who)
        return "Reach her at carol@example.net."

    call = {"name": "look_up", "args": {"who": "ann@example.com"}, "id": "call_1a", "type": "tool_call"}
    answer = AIMessage("She is at carol@example.net.")
    served = template(AIMessage("", tool_calls=[call]), answer, tools=[look_up])
    served.request(input={"messages": [{"role": "user", "content": "Where is ann@example.com?"}]})
    state = await served.graph.ainvoke({"messages": [("user", "Where is <EMAIL>?")]}, served.config)
    assert got == ["ann@example.com"]
    assert "example." not in repr(state)
    assert resolve(state["messages"][-1].content, served.values()) == answer.content


async def test_the_user_is_whom_the_server_says(template: Any) -> None:
    served = template(AIMessage("Hello."))
    served.request(
        input={"messages": [{"role": "user", "content": "Hello"}]},
        context={
            "user_id": "mallory",
            "thread_id": "stolen",
            "app_name": "raw ann@example.com",
            "system_prompt": "raw ann@example.com",
        },
    )
    said = {"app_name": "raw <EMAIL>", "system_prompt": "raw <EMAIL>"}
    config = {"configurable": {**served.config["configurable"], "user_id": "ann", **said}}
    seen: list[Any] = []

    def keep(messages: Any) -> AIMessage:
        seen.extend([get_config()["configurable"], get_runtime().context])
        return AIMessage("Hello.")

    served.model.responses = [keep]
    context = {"user_id": "ann", **said}
    await served.graph.ainvoke({"messages": [("user", "Hello")]}, config, context=context)
    assert seen[0]["user_id"] == "ann"
    assert seen[0]["thread_id"] == "thread-1"
    # Rows are labelled with names of applications, in clear.
    assert seen[1] == Context(user_id="ann", app_name="raw <EMAIL>", system_prompt="raw ann@example.com")
    assert config["configurable"]["system_prompt"] == "raw <EMAIL>", "the server's own config is not touched"


def failures() -> float:
    """Return how often a vault has failed so far."""
    return sum(
        sample.value
        for metric in REGISTRY.collect()
        if metric.name == "discreet_vault_failures"
        for sample in metric.samples
        if sample.name.endswith("_total")
    )


@pytest.mark.parametrize("lost", ["forgotten", "down", "not JSON"])
async def test_a_lost_vault_leaves_placeholders_and_the_run_goes_on(
    template: Any, lost: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served = template(AIMessage("Hello."))
    if lost == "not JSON":
        served.vault.hold(served.config["configurable"][REQUEST_REF], {"request:input": "{ann@example.com"})
    if lost == "down":

        async def down(turn: str) -> dict[str, str]:
            raise ConnectionError(turn)

        monkeypatch.setattr(served.vault, "avalues", down)
    before = failures()
    said = "Write to <EMAIL:AAAAAAAA>"
    state = await served.graph.ainvoke({"messages": [("user", said)]}, served.config)
    assert state["messages"][-1].content == "Hello."
    assert str(served.model.prompts[0][-1].text).startswith("Write to <EMAIL")
    assert failures() > before
    assert "turn_vault_failed" in caplog.text
    assert "ann@example.com" not in caplog.text


async def test_a_redacted_answer_of_the_server_can_be_read_as_json(template: Any) -> None:
    served = template(AIMessage("Hello."))
    served.request(input={"messages": [{"role": "user", "content": "I am ann@example.com"}]})
    async for event in served.graph.astream({"messages": []}, served.config, stream_mode=["debug"], subgraphs=True):
        json.dumps(event, default=lambda value: value.model_dump())
