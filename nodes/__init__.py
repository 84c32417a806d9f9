"""One node a file; each module has `make_<node>(…)`, which returns the node."""
