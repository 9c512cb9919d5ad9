"""Tests of `tracejit.passes`: graphs before and after, and every bit of their results."""
