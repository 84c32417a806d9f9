"""What all pages load besides: one style sheet and one icon."""
