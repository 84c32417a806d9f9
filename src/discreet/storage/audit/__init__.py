"""The audit trail in the database: entries in a chain for each person, the heads of all chains sealed together."""
