"""The parameters of methods of arrays, where NumPy has no text of them: before 2.4."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["METHOD_FORMS"]

_FORMS: dict[str, Callable[..., None]] = {
    "all any": lambda self, /, axis=None, out=None, keepdims=False, *, where=True: None,
    "argmax argmin": lambda self, /, axis=None, out=None, *, keepdims=False: None,
    "argsort sort": lambda self, /, axis=-1, kind=None, order=None, *, stable=None: None,
    "astype": lambda self, /, dtype, order="K", casting="unsafe", subok=True, copy=True: None,
    "clip": lambda self, /, min=None, max=None, out=None, **kwargs: None,
    "conj conjugate nonzero": lambda self, /: None,
    "copy flatten ravel": lambda self, /, order="C": None,
    "cumprod cumsum": lambda self, /, axis=None, dtype=None, out=None: None,
    "diagonal": lambda self, /, offset=0, axis1=0, axis2=1: None,
    "dot": lambda self, other, /, out=None: None,
    "fill": lambda self, /, value: None,
    "item": lambda self, /, *args: None,
    "max min": lambda self, /, axis=None, out=None, **kwargs: None,
    "mean prod sum": lambda self, /, axis=None, dtype=None, out=None, **kwargs: None,
    "put": lambda self, indices, values, /, mode="raise": None,
    "repeat": lambda self, repeats, /, axis=None: None,
    "reshape": lambda self, /, *shape, order="C", copy=None: None,
    "round": lambda self, /, decimals=0, out=None: None,
    "searchsorted": lambda self, v, /, side="left", sorter=None: None,
    "squeeze": lambda self, /, axis=None: None,
    "std var": lambda self, /, axis=None, dtype=None, out=None, ddof=0, **kwargs: None,
    "swapaxes": lambda self, axis1, axis2, /: None,
    "take": lambda self, indices, /, axis=None, out=None, mode="raise": None,
    "trace": lambda self, /, offset=0, axis1=0, axis2=1, dtype=None, out=None: None,
    "transpose": lambda self, /, *axes: None,
    "view": lambda self, /, *args, **kwargs: None,
}
#: By the name of a method, a function with the same parameters.
METHOD_FORMS = {name: form for names, form in _FORMS.items() for name in names.split()}
