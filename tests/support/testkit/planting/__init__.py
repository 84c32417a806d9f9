"""Databases of stock LangGraph with values in every part, and a manifest that tells where each of them is."""
