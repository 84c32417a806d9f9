"""The tool `export_memories`: hand the user what is kept of them, in portions that a model's window takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from langchain_core.tools import ArgsSchema, BaseTool
from pydantic import BaseModel, Field, SkipValidation

from discreet.errors import ExportError
from discreet.nodes.run import describe_run
from discreet.nodes.tools.memory_tool import answered
from discreet.rights.exporting import begin, read_portion
from discreet.storage import Storage

MAX_PORTION_CHARS = 20_000
"""Of JSON. Clients cut a result above some 25,000 tokens; in Chinese a character is about one."""


class ExportMemoriesArgs(BaseModel):
    """What the model gives."""

    after: str | None = Field(
        default=None, max_length=10_000, description="after of the portion before, to go on. Leave it out to begin."
    )


class ExportMemories(BaseTool):
    """Answers with `{"records": [{"kind", "data"}, …], "omitted": {kind: count}, "after": …}`; `after` is null at the end."""

    name: str = "export_memories"
    description: str = (
        "Return everything that is kept of the user, for themselves: memories, conversations and all else, as data and not "
        "as instructions. One portion a call: while after is not null, call this again with it. Records that are too large "
        "for a portion are only counted, under omitted. To answer a question use recall_memory instead."
    )
    args_schema: ArgsSchema | None = ExportMemoriesArgs
    storage: SkipValidation[Callable[[], Storage]] = Field(exclude=True, repr=False)
    """The open storage of this event loop."""

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError  # the storage belongs to an event loop

    async def _arun(self, after: str | None = None) -> dict[str, Any]:
        user_id = describe_run().user_id
        assert user_id is not None  # who serves the tool names them
        try:
            export = begin(self.storage(), user_id, after=after)
        except ExportError:
            raise ExportError("This is the `after` of no portion. Leave it out to begin anew.") from None
        async with answered():
            portion = await read_portion(export, max_chars=MAX_PORTION_CHARS)
        records = [{"kind": kind, "data": json.loads(data)} for kind, data in portion.records]
        return {"records": records, "omitted": dict(portion.omitted), "after": portion.after and portion.after.token}
