"""Tests of `tracejit.frontend.interpreter`: calls of functions, and whose code is followed."""
