"""Scalar functions: a name and dtypes become instructions over any number of lanes."""
