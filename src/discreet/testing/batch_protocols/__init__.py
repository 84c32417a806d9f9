"""How companies speak of batches, over the same shelf. Each module has `handle` and `failure`, and knows nothing of sockets."""
