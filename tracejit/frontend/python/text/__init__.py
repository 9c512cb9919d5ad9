"""Texts of a traced program: formatted, printed to the standard streams, logged and warned."""
