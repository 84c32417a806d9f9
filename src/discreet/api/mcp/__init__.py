"""The Model Context Protocol over HTTP, for the callers of the REST API."""
