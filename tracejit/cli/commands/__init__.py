"""The commands, one module each: `add(parser)` says what it takes, `run(options)` does it."""
