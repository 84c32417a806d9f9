"""Rewrite a database so that it holds what a redacting saver would have stored, and every thread still goes on."""

from discreet.scanning.scrubbing.advice import advice
from discreet.scanning.scrubbing.report import ScrubReport
from discreet.scanning.scrubbing.scrubber import Scrubber, ScrubOptions

__all__ = ["ScrubOptions", "ScrubReport", "Scrubber", "advice"]
