"""Workflows of the functional API: what an entrypoint kept from last time, and results of tasks."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.func import entrypoint, task
from langgraph.pregel import Pregel

from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session
from testkit.planting.turns import next_result, turn


def build() -> Pregel[Any, Any, Any, Any]:
    """Return a workflow of one task, which keeps all messages."""

    @task
    def look_up(question: str) -> dict[str, Any]:
        return {"asked": len(question), "found": next_result("nothing")}

    @entrypoint()
    def workflow(
        given: dict[str, Any], *, previous: dict[str, Any] | None = None
    ) -> entrypoint.final[dict[str, Any], dict[str, Any]]:
        messages: list[AnyMessage] = [*(previous or {"messages": []})["messages"], *given["messages"]]
        found = look_up(str(messages[-1].text)).result()
        messages.append(AIMessage(str(next_result("Done."))))
        return entrypoint.final(
            value={"messages": messages, "found": found}, save={"messages": messages, "last": found}
        )

    return workflow


async def plant(session: Session) -> None:
    """Run it twice."""
    book = session.book
    for _ in range(2):
        results = [book.said("task_result", "writes", "blobs"), book.said("entrypoint_previous")]
        with turn(results=results):
            await session.run({"messages": [HumanMessage(book.said("human_message"))]})


FUNCTIONAL = Scenario(build, plant)
