"""Where a filtered turn is kept when it is over, one place a file. A place that fails costs only itself."""

from discreet.nodes.sinks.filtered_turn import FilteredTurn, Sink, write_all
from discreet.nodes.sinks.log import LogRoundSink, LogSink
from discreet.nodes.sinks.rounds import RoundSink
from discreet.nodes.sinks.summary import SummarySink
from discreet.nodes.sinks.turns import TurnSink

__all__ = ["FilteredTurn", "LogRoundSink", "LogSink", "RoundSink", "Sink", "SummarySink", "TurnSink", "write_all"]
