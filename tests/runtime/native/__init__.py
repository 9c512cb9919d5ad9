"""Tests of `tracejit.runtime.native`: calls that run no Python code."""
