"""Run time: calls of decorated functions, their specialisations, entries and reports."""
