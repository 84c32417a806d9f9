"""The pages of the administrator, as Jinja templates."""
