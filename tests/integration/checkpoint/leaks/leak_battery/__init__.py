"""A battery of graphs with something planted wherever it could leak from, for this suite and the processes it kills."""
