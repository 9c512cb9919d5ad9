"""Python on tracers: operators, builtins, objects, text and streams."""
