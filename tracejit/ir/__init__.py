"""The intermediate representation: sizes, types, graphs, kernels and their text."""
