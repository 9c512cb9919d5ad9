"""Tests of `tracejit.frontend.python`: numbers, sequences, sets and operators of Python."""
