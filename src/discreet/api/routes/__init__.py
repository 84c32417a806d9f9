"""The REST API by subject, one a file."""
