"""The front end: from a Python function that uses NumPy to a graph.

Importing the package gives tracers their operators and fills the table of NumPy functions.
"""

import importlib

for _name in (
    "ufuncs numpy_reduce numpy_shape numpy_join numpy_creation numpy_ranges numpy_rearrange "
    "numpy_linalg numpy_einsum numpy_misc numpy_calculus numpy_queries numpy_stores "
    "numpy_grids numpy_norms numpy_statistics numpy_determinants numpy_masks "
    "numpy_cumulative numpy_tensors"
).split():
    importlib.import_module(f"tracejit.frontend.{_name}")
