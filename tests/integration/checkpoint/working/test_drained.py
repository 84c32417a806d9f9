"""A run that is drained, as a server does before it stops, goes on in the next process: what was done is not done again."""
