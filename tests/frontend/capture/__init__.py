"""Tests of `tracejit.frontend.capture`: what programs find outside themselves."""
