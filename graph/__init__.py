"""The template graph and its wiring: the one composition root."""
