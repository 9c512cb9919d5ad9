"""Functions without an op: found, tried on examples, recorded as calls."""
