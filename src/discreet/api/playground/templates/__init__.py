"""Templates of the playground."""
