"""Models: embeddings and chat models by name, the local ones included."""
