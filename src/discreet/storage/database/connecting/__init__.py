"""Reach the server: connections, the pool and its line, poolers, replicas, and how the database calls things."""
