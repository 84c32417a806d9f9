"""The schema: numbered migrations, and `schema.sql`, which says what they add up to."""
