"""What one message is to a server: of the REST API a search and an entry, of the LangGraph API a run of a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar
from uuid import NAMESPACE_OID, uuid5

import httpx
from langgraph_sdk import get_client
from loading.crowd import Said
from loading.tally import Kept, Tally, message_id

T = TypeVar("T")

ATTEMPTS = 60
PAUSE_SECONDS = 1.0
"""A client tries again, with the next server: for as long as a database needs to come back."""
TIMEOUT_SECONDS = 60.0


class Talk(Protocol):
    """How people talk with servers."""

    async def say(self, number: int, said: Said) -> None:
        """Have the user of that number say something, until it is acknowledged."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class _Insisting:
    """Tries one server after another."""

    def __init__(self, urls: Sequence[str], tokens: Sequence[str], tally: Tally) -> None:
        self._servers = len(urls)
        self._tokens = tokens
        self._tally = tally
        self._limits = httpx.Limits(max_connections=len(tokens))

    async def _until_done(self, number: int, operation: str, do: Callable[[int], Awaitable[T]]) -> T | None:
        """Return what `do` with the number of a server does; None if all attempts failed."""
        for attempt in range(ATTEMPTS):
            if (found := await self._tally.timed(operation, do((number + attempt) % self._servers))) is not None:
                return found
            self._tally.repeated += 1
            await asyncio.sleep(PAUSE_SECONDS)
        return None

    def _headers(self, number: int) -> dict[str, str]:
        return {"authorization": f"Bearer {self._tokens[number]}"}


class RestTalk(_Insisting):
    """Searches with what a message begins with, and stores the message."""

    def __init__(self, urls: Sequence[str], tokens: Sequence[str], tally: Tally) -> None:
        """Talk with the servers at `urls` as the owners of `tokens`."""
        super().__init__(urls, tokens, tally)
        self._clients = [httpx.AsyncClient(base_url=url, limits=self._limits, timeout=TIMEOUT_SECONDS) for url in urls]

    async def say(self, number: int, said: Said) -> None:
        """See `Talk`."""
        headers = self._headers(number)
        question = {"q": said.question}
        new = {"short_answer": said.text, "session_id": f"session {number}", "tags": [said.kind]}
        once = {**headers, "idempotency-key": said.mark}
        await self._until_done(number, "search", lambda at: self._post(at, "/memory/search", question, headers))
        stored = await self._until_done(number, "store", lambda at: self._post(at, "/memory/store", new, once))
        if stored is not None:
            self._tally.messages += 1
            self._tally.kept.append(Kept(self._tokens[number], stored["entry_id"], said.mark))

    async def _post(self, at: int, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        response = (await self._clients[at].post(path, json=body, headers=headers)).raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    async def close(self) -> None:
        """See `Talk`."""
        for client in self._clients:
            await client.aclose()


class TurnTalk(_Insisting):
    """Waits for a run of the user's one thread, of any server that speaks the LangGraph API.

    Where the answer is lost on its way the same message is sent again, under the same id: nothing is looked up before.
    """

    def __init__(self, urls: Sequence[str], tokens: Sequence[str], tally: Tally, *, assistant: str = "agent") -> None:
        """Talk with the servers at `urls`, which share what they keep, as the owners of `tokens`."""
        super().__init__(urls, tokens, tally)
        self._assistant = assistant
        self._clients = [get_client(url=url, api_key=None, timeout=TIMEOUT_SECONDS) for url in urls]

    async def say(self, number: int, said: Said) -> None:
        """See `Talk`."""
        thread = str(uuid5(NAMESPACE_OID, f"thread of {self._tokens[number]}"))
        message = {"role": "user", "content": said.content, "id": message_id(said.mark)}
        headers = self._headers(number)

        async def run(at: int) -> bool:
            client = self._clients[at]
            await client.threads.create(thread_id=thread, if_exists="do_nothing", headers=headers)
            state = await client.runs.wait(
                thread,
                self._assistant,
                input={"messages": [message]},
                multitask_strategy="enqueue",
                raise_error=False,
                headers=headers,
            )
            if not _is_answered(state, message["id"]):
                raise OSError
            return True

        if await self._until_done(number, "turn", run):
            self._tally.messages += 1
            self._tally.kept.append(Kept(self._tokens[number], thread, said.mark))

    async def close(self) -> None:
        """See `Talk`."""
        for client in self._clients:
            await client.aclose()


def _is_answered(state: Any, message_id: str) -> bool:
    """Return whether a thread has a message and an answer behind it. To be asked for patience is none."""
    messages = state.get("messages", []) if isinstance(state, dict) else []
    place = next((n for n, each in enumerate(messages) if each["id"] == message_id), None)
    return place is not None and any(
        each["type"] == "ai" and each["response_metadata"].get("delivery") != "still_working"
        for each in messages[place + 1 :]
    )
