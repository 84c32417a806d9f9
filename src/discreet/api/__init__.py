"""The server: what goes into a request and out of an answer, routes of memory, and the admin page."""
