"""Find sensitive values in text and put placeholders in their place."""
