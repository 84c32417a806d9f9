"""A day of 200 turns in four languages: who says what where, the model that answers, the doors, and what is left of it."""
