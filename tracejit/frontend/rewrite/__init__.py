"""A function's source becomes source that asks the interpreter at each step."""
