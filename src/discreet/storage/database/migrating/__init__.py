"""Bring the schema up to date, and spread it over a cluster."""
