"""The pages that all areas share, as Jinja templates."""
