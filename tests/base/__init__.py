"""Tests of `tracejit.base`."""
