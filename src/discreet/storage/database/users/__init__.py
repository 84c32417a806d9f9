"""Whose rows there are: the keys of users, their epochs, and one writer at a time for each."""
