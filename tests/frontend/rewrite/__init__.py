"""Tests of `tracejit.frontend.rewrite`: rewritten source does what the source did."""
