"""Ops on Python's own numbers, with Python's meanings."""
