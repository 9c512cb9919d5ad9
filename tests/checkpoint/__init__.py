"""Tests of `tracejit.checkpoint`."""
