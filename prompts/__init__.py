"""What is said to models: one prompt a file."""
