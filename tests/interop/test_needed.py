"""Packages that are not installed."""

from __future__ import annotations

import sys

import pytest

import tracejit
from tracejit.interop.needed import needed


def test_errors_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match="NoSuch is not installed: pip install no-such"):
        needed("no_such_package.part", "NoSuch", "no-such")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tracejit.interop.torch", raising=False)
    monkeypatch.delitem(vars(tracejit.interop), "torch", raising=False)
    with pytest.raises(ImportError, match="PyTorch is not installed: pip install torch"):
        _ = tracejit.interop.torch
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tracejit.interop.nothing
    assert "scipy" in dir(tracejit.interop) and "torch" not in dir(tracejit.interop)
