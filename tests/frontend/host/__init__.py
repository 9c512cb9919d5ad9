"""Tests of `tracejit.frontend.host`: functions that a program calls while it runs."""
