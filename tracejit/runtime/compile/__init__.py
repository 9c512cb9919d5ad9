"""A lowered trace becomes a variant that answers calls."""
