"""What the pages of the administrator load besides: one style sheet and one icon."""
