"""Where a filtered turn is kept when it is over, one place a file. A place that fails costs only itself."""

from discreet.nodes.keepers.filtered_turn import FilteredTurn, Keeper, keep
from discreet.nodes.keepers.log import LogKeeper
from discreet.nodes.keepers.rounds import RoundKeeper
from discreet.nodes.keepers.summary import SummaryKeeper
from discreet.nodes.keepers.turns import TurnKeeper

__all__ = ["FilteredTurn", "Keeper", "LogKeeper", "RoundKeeper", "SummaryKeeper", "TurnKeeper", "keep"]
