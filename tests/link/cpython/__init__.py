"""Tests of `tracejit.link.cpython`: the layout of objects."""
