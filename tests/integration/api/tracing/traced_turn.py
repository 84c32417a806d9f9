"""A turn with planted values in all places that a trace has, traced to LANGSMITH_ENDPOINT; run by test_tracing.py.

Arguments: `control`, or the value of DISCREET_TRACING; then the planted values.
"""

import contextlib
import sys

import langsmith
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_core.tracers.langchain import wait_for_all_tracers
from langgraph.graph import END, START, MessagesState, StateGraph
from langsmith.run_trees import get_cached_client

from discreet.api.tracing import require_hidden_text
from discreet.redaction import Redactor
from discreet.settings import Settings

mode, said, answered, argument, failure, tag, about, run_name, header = sys.argv[1:]


@tool
def look_up(query: str) -> str:
    """Look something up."""
    return f"found {query}"


def assistant(state: MessagesState) -> dict[str, object]:
    """Ask the model and a tool."""
    look_up.invoke({"query": argument})
    return {"messages": FakeListChatModel(responses=[answered]).invoke(state["messages"])}


def fails(state: MessagesState) -> dict[str, object]:
    """Fail with user text in the message."""
    raise ValueError(failure)


if mode != "control":
    require_hidden_text(Settings(tracing=mode), Redactor())
graph = StateGraph(MessagesState)
graph.add_node(assistant)
graph.add_node(fails)
graph.add_edge(START, "assistant")
graph.add_edge("assistant", "fails")
graph.add_edge("fails", END)
config = {"tags": [tag], "metadata": {"about": about, "ls_model_name": about}, "run_name": run_name}
with contextlib.suppress(ValueError):
    graph.compile().invoke({"messages": [HumanMessage(said)]}, config)
if header:  # What a client's trace header does in a server: a parent run turns tracing on by itself.
    parent = langsmith.RunTree(name="parent", inputs={"q": header}, extra={"metadata": {"user": header}})
    with langsmith.tracing_context(parent=parent), contextlib.suppress(ValueError):
        parent.post()
        graph.compile().invoke({"messages": [HumanMessage(header)]}, config)
    parent.end(error=repr(ValueError(header)))
    parent.patch()
wait_for_all_tracers()
get_cached_client().flush()
