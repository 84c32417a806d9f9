"""Plays random programs on LangGraph's own saver and on ours, and says what ours must show by what LangGraph's does."""
