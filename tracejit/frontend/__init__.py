"""The front end: from a Python function that uses NumPy to a graph."""

from tracejit.frontend.tracing.dispatch import FILLED_BY

_PLACES = {
    "ufunc": "ufunc_calls",
    "function": "registry",
    "array_attribute": "methods",
    "scalar_attribute": "methods",
    "get_item": "indexing",
    "set_item": "indexing",
    "asarray": "conversion",
    "binary_operator": "number_operators",
}
FILLED_BY.update({place: f"{__name__}.numpy.{file}" for place, file in _PLACES.items()})
