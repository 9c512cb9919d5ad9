"""Searches by random programs and graphs, and the tests that hold a slice of each."""
