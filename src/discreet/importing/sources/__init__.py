"""Readers of what others have stored: each yields the rows of one kind of source."""
