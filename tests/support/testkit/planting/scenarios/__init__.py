"""Kinds of threads: how the graph is built, what a user does in it, and how it goes on."""
