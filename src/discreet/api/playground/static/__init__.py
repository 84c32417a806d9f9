"""What the playground loads besides what all pages do: a style sheet and a script."""
