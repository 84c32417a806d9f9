"""What an edit of the database is noticed by: agent-memory-integrity's edits over what Discreet keeps of people.

    PYTHONPATH=tests/support python -m testkit.integrity [--compose]

prints a table of places and edits, over an embedded server of its own; with `--compose` also pairs of edits that pass where none of
the two passes alone.

Whoever makes the edits has the role of the database's owner, and none of the keys. `rows` is what they do, `noticing` what a user of Discreet has
against it, `places` what is kept and how it is read.
"""
