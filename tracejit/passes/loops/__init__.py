"""Loops: what need not run in each iteration, and what can run side by side."""
