"""What the async saver and its sync twin share: everything but the calls."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Self, TypeGuard

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.access.user_keys import user_keys_of
from discreet.checkpoint.checkpoint_ref import locate
from discreet.checkpoint.interrupts import Interrupts
from discreet.checkpoint.kept_tools import KeepsTools
from discreet.checkpoint.late_writes import LateWrites
from discreet.checkpoint.maintenance import Maintenance
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.postgres import AsyncPostgresTier, PostgresTier
from discreet.checkpoint.pruning import as_list
from discreet.checkpoint.scratch import Scratch, ScratchLimits, limits_of
from discreet.checkpoint.shown import has_placeholders
from discreet.checkpoint.spill import SpillStore, SyncSpillStore
from discreet.checkpoint.tiered_reader import TieredReader
from discreet.checkpoint.tiers import Tiers
from discreet.checkpoint.tripwire import TripwireSerializer
from discreet.erased import Erased, on_erasure
from discreet.errors import ConfigurationError
from discreet.ports import TurnVault
from discreet.redaction.thread_values import ThreadValues
from discreet.redaction.vault import default_vault
from discreet.settings import load_settings


class TwoTierSaver(KeepsTools):
    """Holds the two tiers."""

    def __init__(
        self,
        inner: BaseCheckpointSaver[Any],
        *,
        policy: CheckpointPolicy | None = None,
        scratch: Scratch | ScratchLimits | None = None,
        spill: SpillStore | SyncSpillStore | None = None,
        schema: str | None = None,
        pause_seconds: float | None = None,
        history_ttl: float | None = None,
        vault: TurnVault | None = None,
        restore: bool = True,
    ) -> None:
        """Store in `inner` what `policy` allows, and keep open turns in `scratch`.

        `inner` is left as it is: it is written through a copy with a tripwire. `scratch` is this saver's own. `spill`
        holds turns that wait for a person, so that another process can resume them; its API is the saver's, async or
        blocking. `schema` says where LangGraph's tables are, if `inner` has any.

        `pause_seconds`: how long a person may take to answer, in RAM and in the spill; default DISCREET_PAUSE_SECONDS.
        `history_ttl`: seconds for which turns that are over stay whole in the spill, so that any process can fork them.

        `vault` holds what placeholders stand for, and a thread that is read again shows these values for as long as it has them;
        default: that of the process. With `restore=False` they are neither held nor shown: the graph meets placeholders.

        Raises:
            ConfigurationError: There is a `history_ttl` and no spill to keep turns in.
        """
        if not isinstance(inner, BaseCheckpointSaver):
            raise ConfigurationError(
                "RedactingSaver stands in front of a checkpointer. With a DSN, take RedactingSaver.from_conn_string(dsn)."
            )
        if not isinstance(policy, CheckpointPolicy | None):
            raise ConfigurationError("policy= is a CheckpointPolicy(…).")
        if history_ttl is not None and not history_ttl > 0:
            raise ConfigurationError("history_ttl= is a number of seconds above 0, or None.")
        if history_ttl and spill is None:
            raise ConfigurationError(
                "history_ttl keeps finished turns sealed in the spill: give keys=…, or set DISCREET_SPILL and "
                "DISCREET_ENCRYPTION_KEYS (`discreet key` makes one)."
            )
        super().__init__(serde=inner.serde)
        self.inner = inner
        self.policy = policy or CheckpointPolicy()
        self._schema = schema
        self._vault, self._restores = vault, restore
        self._values = ThreadValues(default_vault() if vault is None else vault)
        self._bound = replace(self.policy, values={}) if restore else self.policy
        self._durable = durable_tier(inner, self.policy, schema)
        self._maintenance = Maintenance(self._durable)
        self._scratch = (
            scratch if isinstance(scratch, Scratch) else Scratch(limits_of(scratch, pause_seconds, history_ttl))
        )
        self._history_ttl = history_ttl
        by_row = isinstance(self._durable, (AsyncPostgresTier, PostgresTier))
        self._tiers = Tiers(self._bound, self._scratch, inner.serde, inner.get_next_version, by_row=by_row)
        self._late = LateWrites(
            self._scratch,
            timed_by_database=by_row,
            default_user=load_settings().default_user,
            keys=user_keys_of(getattr(inner, "conn", None)),
        )
        self.spill = spill
        self._ids = default_sensitive_ids()
        self._interrupts = Interrupts(self._scratch, inner.serde)
        self._reader = TieredReader(self._bound, self._scratch, inner.serde, inner.get_next_version)
        on_erasure(self._hear)

    @property
    def restores(self) -> bool:
        """Whether what it loads has its values again: then the state of a graph holds what was said."""
        return self._restores

    @property
    def config_specs(self) -> list[Any]:
        """The options that `inner` reads from a config."""
        return self.inner.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return a channel's next version, as `inner` counts them."""
        return self.inner.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Return a saver over the same tiers that may load these types too."""
        inner = self.inner.with_allowlist(extra_allowlist)
        if inner is self.inner:
            return self
        saver = type(self)(
            inner,
            policy=self.policy,
            scratch=self._scratch,
            spill=self.spill,
            schema=self._schema,
            history_ttl=self._history_ttl,
            vault=self._vault,
            restore=self._restores,
        )
        saver._late = self._late  # noqa: SLF001  # of its own class
        return saver

    def _stored(self, config: RunnableConfig, *, stores: bool) -> RunnableConfig:
        """Return `config` with the thread_id that its thread is stored under; `stores`: whether something is to be stored.

        Raises:
            SensitiveIdError: It is, and the thread_id holds a sensitive value, which the settings refuse.
        """
        thread_id, _ = locate(config)
        stored = self._ids.thread_id(thread_id, stores=stores)
        if stored == config["configurable"]["thread_id"]:  # which may be a number
            return config
        return {**config, "configurable": {**config["configurable"], "thread_id": stored}}

    def _stored_ids(self, thread_ids: Sequence[str]) -> list[str]:
        """Return the thread_ids that threads are stored under which are to be deleted or pruned."""
        return [self._ids.thread_id(each, stores=False) for each in as_list(thread_ids)]

    def _is_shown_otherwise(self, stored: CheckpointTuple | None) -> TypeGuard[CheckpointTuple]:
        """Return whether to ask the vault what is in `stored`."""
        return self._restores and stored is not None and has_placeholders(stored, self.policy)

    def _check_late(self, config: RunnableConfig) -> None:
        """Look whether what LangGraph writes with `config` belongs to what was deleted.

        Raises:
            ThreadDeletedError: It does.
        """
        self._late.check(config, is_orphan=self._tiers.unknown)

    async def _hear(self, erased: Erased) -> None:
        """Forget the open turns of threads that went; what they go on to write is dropped."""
        tier = self._durable
        if isinstance(tier, (AsyncPostgresTier, PostgresTier)):
            tier.forget_rows()
        for thread_id in [each for each in self._scratch.thread_ids() if erased.has_thread(each)]:
            if isinstance(tier, AsyncPostgresTier) and tier.loop.is_closed():
                self._scratch.drop(thread_id)
            elif isinstance(tier, AsyncPostgresTier):
                asked = asyncio.run_coroutine_threadsafe(tier.alast_deletions([thread_id]), tier.loop)
                deleted = await asyncio.wrap_future(asked)
                self._late.observe(deleted.times)
            elif isinstance(tier, PostgresTier):
                self._late.observe((await asyncio.to_thread(tier.last_deletions, [thread_id])).times)
            else:
                self._late.delete([thread_id])

    def _pruning(self, **options: Any) -> dict[str, Any]:
        """Return all options of a pruning."""
        return {**options, "keeps": self.policy.keeps}


def durable_tier(
    inner: BaseCheckpointSaver[Any], policy: CheckpointPolicy, schema: str | None = None
) -> BaseCheckpointSaver[Any]:
    """Return a saver over the rows of `inner` that refuses to write what the filter should have kept out."""
    tier: BaseCheckpointSaver[Any]
    if type(inner) is AsyncPostgresSaver:
        tier = AsyncPostgresTier(inner, message_channels=policy.messages, tools=policy.tools, schema=schema)
    elif type(inner) is PostgresSaver:
        tier = PostgresTier(inner, message_channels=policy.messages, tools=policy.tools, schema=schema)
    else:
        tier = copy.copy(inner)
    tier.serde = TripwireSerializer(inner.serde, policy.tools)
    return tier
