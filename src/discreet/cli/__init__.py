"""The `discreet` command."""
