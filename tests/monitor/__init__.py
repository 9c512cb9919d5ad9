"""Tests of progress and events."""
