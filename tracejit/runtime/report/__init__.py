"""What happened to a function, for its user."""
