"""CPython's own layout: offsets of fields, found by looking at objects; its C API."""
