"""Which entries a request is about."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.api.values import Id, Labels, Moment
from discreet.state.records import MemoryFilters, MemoryType


class EntryFilters(BaseModel):
    """Which entries; every filter given must hold."""

    model_config = ConfigDict(extra="forbid")  # a filter whose name is mistyped would let everything through

    session_id: Annotated[Id | None, Field(description="Of this conversation.")] = None
    agent_id: Annotated[Id | None, Field(description="Of this agent.")] = None
    request_id: Annotated[Id | None, Field(description="Of this request.")] = None
    type: Annotated[list[MemoryType], Field(max_length=10, description="Of any of these types.")] = []
    tags: Annotated[Labels, Field(description="That carry all these tags.")] = []
    after: Annotated[Moment | None, Field(description="Written at or after this time.")] = None
    before: Annotated[Moment | None, Field(description="Written before this time.")] = None
    app_name: Annotated[Id, Field(description="Of this application.")] = "default"

    def stored(self) -> MemoryFilters:
        """Return them as the storage has them."""
        return MemoryFilters(
            app_name=self.app_name,
            thread_id=self.session_id,
            agent_id=self.agent_id,
            request_id=self.request_id,
            types=self.type or None,
            tags=self.tags or None,
            after=self.after,
            before=self.before,
        )
