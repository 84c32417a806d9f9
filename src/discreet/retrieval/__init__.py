"""Tokens, lexical weights and fusion: the pure half of search."""
