"""Python on tracers: operators, builtins, containers, objects, text and streams."""
