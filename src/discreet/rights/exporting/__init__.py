"""Everything that is kept of a user, as JSON lines: to be handed to them, and to be read by an import."""

from discreet.rights.exporting.exporter import Export, Mark, Page, begin
from discreet.rights.exporting.folder import export_to_folder
from discreet.rights.exporting.format import KINDS, Manifest
from discreet.rights.exporting.portions import Portion, read_portion
from discreet.rights.exporting.reading import read_export, read_manifest
from discreet.rights.exporting.stream import lines

__all__ = [
    "KINDS",
    "Export",
    "Manifest",
    "Mark",
    "Page",
    "Portion",
    "begin",
    "export_to_folder",
    "lines",
    "read_export",
    "read_manifest",
    "read_portion",
]
