"""Say what an existing LangGraph database holds, and rewrite it so that it holds no more than ours would."""

from discreet.scanning.databases import open_database
from discreet.scanning.report import ScanReport
from discreet.scanning.scanner import Scanner, ScanOptions

__all__ = ["ScanOptions", "ScanReport", "Scanner", "open_database"]
