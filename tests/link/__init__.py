"""Tests of `tracejit.link`: object files, images, loading."""
