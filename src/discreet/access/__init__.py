"""Who calls: bearer tokens, API keys, and the opaque identity that the database knows a person by."""
