"""The pages of a user, as Jinja templates."""
