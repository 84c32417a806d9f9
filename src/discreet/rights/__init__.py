"""The rights of users over what is kept of them: erasing, exporting, and keeping nothing longer than promised."""
