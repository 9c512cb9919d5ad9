"""Passes: pure functions from Graph to Graph, one a file; the docstring is the rule."""
