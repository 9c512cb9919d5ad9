"""Tests of `tracejit.interop`."""
