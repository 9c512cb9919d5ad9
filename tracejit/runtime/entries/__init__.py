"""The entries of a function: machine code that answers its calls, one after another."""
