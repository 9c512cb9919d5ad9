"""The tests of tracejit."""
