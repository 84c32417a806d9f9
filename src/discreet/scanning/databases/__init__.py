"""Read, and where asked write, the rows of a database or file, whichever it is."""

from discreet.scanning.databases.base import Column, Database, Key, Row, Table
from discreet.scanning.databases.opening import Opened, open_database

__all__ = ["Column", "Database", "Key", "Opened", "Row", "Table", "open_database"]
