"""Numbered migrations, applied in the order of their names. A released one is never edited."""
