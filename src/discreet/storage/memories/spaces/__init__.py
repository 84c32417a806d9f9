"""Embedding spaces: which model's vectors are searched, and moving memories to those of another model."""

from discreet.storage.memories.spaces.spaces import EmbeddingSpace, register_space

__all__ = ["EmbeddingSpace", "register_space"]
