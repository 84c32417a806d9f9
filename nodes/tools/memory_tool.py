"""What the memory tools share: the memories they work on, and who is speaking."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.tools import BaseTool, InjectedToolArg, ToolException
from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from discreet.background_loop import wait_for
from discreet.nodes.run import Run, describe_run
from discreet.nodes.tools.unresolved import PLACEHOLDERS
from discreet.ports import Memories


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
