"""What the readers of sources share: files, databases, and checks of values that nobody checked before."""
