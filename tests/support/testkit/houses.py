"""What each house needs: words to plant, a model that plays a script, and a look at all that the database holds."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from kit.places import ChangedFiles, rows
from kit.planter import PERSONAL, WORDS, Planter
from kit.search import Found, Words, search
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.checkpoint import RedactingSaver
from discreet.testing.chat_models import Response, ScriptedChatModel


class House:
    """An empty database with the savers' tables, and the words that one test plants.

    `raw` words stand where only structure can keep them out: no redactor knows them. `keep` words stand in what the user
    wrote and saw.
    """

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.clients_dsn = dsn
        """Where savers connect to: a pooler, or as another role."""
        self.planted = Planter(families=(WORDS, PERSONAL))
        self.card = self.planted.grouped_card("card")
        self.thread = str(uuid4())
        self._changed_files = ChangedFiles(dsn)
        self._kept: set[str] = set()

    @property
    def email(self) -> str:
        """An address that is in every message."""
        return self.planted.email("mail")

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the one thread, with a secret in it as callers have it there."""
        return {"configurable": {"thread_id": self.thread, "api_key": self.raw("configurable")}}

    def raw(self, where: str) -> str:
        """Return a word that must not reach the database; `where` is of small letters."""
        return self.planted.raw(where)

    def keep(self, what: str) -> str:
        """Return a word that must be in the database at the end; `what` is of small letters."""
        self._kept.add(what)
        return self.planted.keep(what)

    def text(self, what: str) -> str:
        """Return what people write: a word to keep among personal data."""
        return f"It is {self.keep(what)}, write to {self.email}, my card is {self.card}."

    def user(self, what: str, **fields: Any) -> HumanMessage:
        """Return a message of the user's."""
        return HumanMessage(self.text(what), additional_kwargs={"note": self.raw("userkwargs")}, **fields)

    def answer(self, what: str, **fields: Any) -> AIMessage:
        """Return an answer of a model that reasons."""
        content = [{"type": "reasoning", "reasoning": self.raw("reasoning")}, {"type": "text", "text": self.text(what)}]
        return AIMessage(content, response_metadata={"trace": self.raw("metadata")}, **fields)  # type: ignore[arg-type]  # the blocks are LangChain's own

    def call(self, name: str, *, beside: str = "", **args: Any) -> AIMessage:
        """Return a call of the tool `name`; `beside` is what the model says with it."""
        arguments = args or {"query": self.raw("args")}
        call_id = f"call_{self.raw('callid')}{secrets.token_hex(4)}"
        return AIMessage(beside, tool_calls=[{"name": name, "args": arguments, "id": call_id}])

    def model(self, *responses: Response) -> ScriptedChatModel:
        """Return a model that refuses dangling tool calls as providers do."""
        return ScriptedChatModel(responses=responses)

    @asynccontextmanager
    async def saver(self, *arguments: Any, **options: Any) -> AsyncIterator[RedactingSaver]:
        """Open a saver over the database; a second one is what a process has after a restart."""
        async with RedactingSaver.from_conn_string(self.clients_dsn, *arguments, **options) as saver:
            yield saver

    def told(self, messages: Iterable[BaseMessage]) -> list[tuple[str, str]]:
        """Return of each message its type and the words to keep in it."""
        pattern = re.compile(f"keep([a-z]+?){self.planted.kept}")
        return [(message.type, " ".join(pattern.findall(message.text))) for message in messages]

    async def after_restart(self, build: Callable[[Any], Any], *arguments: Any) -> list[tuple[str, str]]:
        """Return what another process finds in the thread; `build` compiles the graph over a saver made of `arguments`."""
        async with self.saver(*arguments) as saver:
            state = await build(saver).aget_state(self.config)
        return self.told(state.values.get("messages", []))

    def on_disk(self, *further: str | bytes, files: bool = True) -> Found:
        """Return what was planted and is in a row, or in one of the server's `files` that has changed; `further` too."""
        places = [*rows(self.dsn), *(self._changed_files if files else ())]
        found = search(places, self.planted)
        found.leaks |= search(places, Words(values={f"further {at}": each for at, each in enumerate(further)})).leaks
        return found

    def check(self, *further: str | bytes, lost: Sequence[str] = (), files: bool = True) -> None:
        """Check that nothing of what is raw or personal is in the database, and all that is to be kept but the `lost`."""
        found = self.on_disk(*further, files=files)
        assert found.leaks == {}, "these must not be in the database or in a file of its server"
        missing = {what for what in self._kept - set(lost) if self.planted.keep(what) not in found.kept}
        assert missing == set(), f"the user wrote or saw these, and the database lacks them: {sorted(missing)}"
