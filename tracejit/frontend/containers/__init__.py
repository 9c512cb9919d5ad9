"""Lists, dicts, sets, heaps and deques whose contents are data."""
