"""What the async saver and its sync twin share: everything but the calls."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from discreet.checkpoint.interrupts import Interrupts
from discreet.checkpoint.late_writes import LateWrites
from discreet.checkpoint.maintenance import Maintenance
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.postgres import AsyncPostgresTier, PostgresTier
from discreet.checkpoint.scratch import Scratch
from discreet.checkpoint.spill import SpillStore, SyncSpillStore
from discreet.checkpoint.tiered_reader import TieredReader
from discreet.checkpoint.tiers import Tiers
from discreet.checkpoint.tripwire import TripwireSerializer


class TwoTierSaver(BaseCheckpointSaver[Any]):
    """Holds the two tiers."""

    def __init__(
        self,
        inner: BaseCheckpointSaver[Any],
        *,
        policy: CheckpointPolicy | None = None,
        scratch: Scratch | None = None,
        spill: SpillStore | SyncSpillStore | None = None,
    ) -> None:
        """Store in `inner` what `policy` allows, and keep open turns in `scratch`.

        `inner` is left as it is: it is written through a copy with a tripwire. `scratch` is this saver's own. `spill`
        holds turns that wait for a person, so that another process can resume them; its API is the saver's, async or
        blocking.
        """
        super().__init__(serde=inner.serde)
        self.inner = inner
        self.policy = policy or CheckpointPolicy()
        self._durable = durable_tier(inner, self.policy)
        self._maintenance = Maintenance(self._durable)
        self._scratch = scratch or Scratch()
        by_row = isinstance(self._durable, (AsyncPostgresTier, PostgresTier))
        self._tiers = Tiers(self.policy, self._scratch, inner.serde, inner.get_next_version, by_row=by_row)
        self._late = LateWrites(self._scratch, timed_by_database=by_row)
        self.spill = spill
        self._interrupts = Interrupts(self._scratch, inner.serde)
        self._reader = TieredReader(self.policy, self._scratch, inner.serde, inner.get_next_version)

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
        saver = type(self)(inner, policy=self.policy, scratch=self._scratch, spill=self.spill)
        saver._late = self._late  # noqa: SLF001  # of its own class
        return saver

    def _check_late(self, config: RunnableConfig) -> None:
        """Look whether what LangGraph writes with `config` belongs to what was deleted.

        Raises:
            ThreadDeletedError: It does.
        """
        self._late.check(config, orphan=self._tiers.unknown(config) is not None)

    def _pruning(self, **options: Any) -> dict[str, Any]:
        """Return all options of a pruning."""
        return {**options, "keeps": self.policy.keeps}


def durable_tier(inner: BaseCheckpointSaver[Any], policy: CheckpointPolicy) -> BaseCheckpointSaver[Any]:
    """Return a saver over the rows of `inner` that refuses to write what the filter should have kept out."""
    tier: BaseCheckpointSaver[Any]
    if type(inner) is AsyncPostgresSaver:
        tier = AsyncPostgresTier(inner, message_channels=policy.messages)
    elif type(inner) is PostgresSaver:
        tier = PostgresTier(inner, message_channels=policy.messages)
    else:
        tier = copy.copy(inner)
    tier.serde = TripwireSerializer(inner.serde)
    return tier
