"""What two people on one server do to each other."""
