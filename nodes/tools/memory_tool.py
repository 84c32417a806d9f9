"""What the memory tools share: the memories they work on, who is speaking, and what was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, InjectedToolArg, ToolException
from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from discreet.background_loop import wait_for
from discreet.errors import StorageUnavailableError
from discreet.nodes.run import Run, describe_run
from discreet.nodes.tools.errors import PLACEHOLDERS
from discreet.ports import DecliningSecretStore, Memories, SecretStore, TextRedactor
from discreet.redaction.configured import default_redactor

WAIT_SECONDS = 20.0
"""How long a tool waits for the memories: the user waits for its answer. Forgetting may take some seconds, all else takes less."""


class MemoryToolArgs(BaseModel):
    """Arguments of a memory tool. `runtime` is put in by the tool node and invisible to the model."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    runtime: Annotated[Any, InjectedToolArg] = None


class MemoryTool(BaseTool):
    """Base of the memory tools. `invoke` runs them on the background event loop, see `discreet.background_loop`."""

    metadata: dict[str, Any] | None = Field(default_factory=lambda: {PLACEHOLDERS: True})
    memories: SkipValidation[Memories] = Field(exclude=True, repr=False)
    """Where memories are kept."""
    default_user: str | None = Field(default=None, exclude=True)
    """user_id for runs that name none."""

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return wait_for(self._arun(*args, **kwargs))

    def speaker(self, runtime: Any) -> tuple[Run, str]:
        """Return the run and its user.

        Raises:
            ToolException: The run names no user, so there is nobody to remember things about.
        """
        run = describe_run(getattr(runtime, "context", None), default_user=self.default_user)
        if run.user_id is None:
            raise ToolException("There is no long-term memory in this conversation: the run names no user_id.")
        return run, run.user_id


class HearingTool(MemoryTool):
    """Base of the tools that look at the conversation too."""

    redactor: SkipValidation[TextRedactor] = Field(default_factory=default_redactor, exclude=True, repr=False)
    """Finds secrets, which no memory may have, and tags values, which tells the rounds that have the same one."""
    secret_store: SkipValidation[SecretStore] = Field(default_factory=DecliningSecretStore, exclude=True, repr=False)
    """Keeps the secrets that memories refer to. Default: it takes none."""
    messages_key: str = Field(default="messages", exclude=True)
    """State key of the messages, for graphs with a schema of their own."""

    def heard(self, runtime: Any) -> Sequence[BaseMessage]:
        """Return the messages of the conversation."""
        return state_of(runtime).get(self.messages_key) or ()


@asynccontextmanager
async def answered() -> AsyncIterator[None]:
    """Wait no longer than `WAIT_SECONDS` for what is inside.

    Raises:
        StorageUnavailableError: It took longer.
    """
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield
    except TimeoutError:
        raise StorageUnavailableError(f"The memories did not answer within {WAIT_SECONDS:.0f} seconds.") from None


def state_of(runtime: Any) -> dict[str, Any]:
    """Return the state of the graph; an empty one where it is no dictionary."""
    state = getattr(runtime, "state", None)
    return state if isinstance(state, dict) else {}
