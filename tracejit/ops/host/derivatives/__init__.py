"""Derivatives of host calls, by the function that is called."""
