"""The way in and out of the cache: a failure inside is a miss, whatever it is.

The cache saves time and is never needed. An exception while a file is found, read, linked or
written goes to the log and to `failures`, which `tracejit cache why` prints; the function is then
compiled as if there were no file. Only a setting with a wrong value is the user's to see.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tracejit.base.logs import log
from tracejit.config import SettingError

__all__ = ["failures", "never_fails"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_MOST_FAILURES = 16
#: The last failures, as texts.
failures: deque[str] = deque(maxlen=_MOST_FAILURES)


def never_fails(miss: Callable[[], Any]) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Decorator: a function that gives `miss()` where it fails. Raises SettingError."""

    def decorated(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                return function(*args, **kwargs)
            except SettingError:
                raise
            except Exception as e:
                _note(function, e)
                missed: _T = miss()
                return missed

        return call

    return decorated


def _note(function: Any, e: Exception) -> None:
    text = f"{function.__qualname__} of the cache failed: {type(e).__name__}: {e}"
    failures.append(text)
    log().warning("%s", text, exc_info=e)
