"""Tests of the commands that take a function and a call of it."""
