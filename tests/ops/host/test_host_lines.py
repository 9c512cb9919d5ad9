"""What "host" means: the same to the report, to `strict` and to `tracejit ops`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.ops.host.host_samples import SAMPLES
from tests.support.compare import assert_same
from tracejit.cli.commands.ops import _is_compiled, _sample_nodes
from tracejit.errors import FallbackError
from tracejit.ir.op import OPS


@pytest.mark.parametrize("k", range(len(SAMPLES)))
def test_strict_refuses_what_the_report_calls_host(k: int) -> None:
    f, x, calls_numpy = SAMPLES[k]
    plain = tracejit.jit(f)
    plain(x)
    assert plain.report().fallbacks == []
    lines = [line for line in plain.report().lines if line.kind == "host"]
    assert bool(lines) == calls_numpy, plain.report()
    strict = tracejit.jit(f, strict=True)
    if not calls_numpy:
        assert_same(strict(x), plain(x))
        return
    for _ in range(2):
        with pytest.raises(FallbackError) as caught:
            strict(x)
    assert (caught.value.where, caught.value.detail) in [(x.where, x.why) for x in lines]
    assert strict.report().compiles == []


def test_every_host_line_of_a_backward_pass_is_listed() -> None:
    f, x, _ = SAMPLES[-2]
    report = f.report()
    f(x)
    names = {line.why for line in report.lines if line.kind == "host"}
    assert "scipy.fft.fft" in names and len(names) > 1


def test_the_table_of_ops_says_host_for_what_strict_refuses() -> None:
    def nodes(name: str, dtype: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            return [node for found, node in _sample_nodes(OPS[name]) if found == dtype]

    for name, dtype, is_compiled in (
        ("matmul", "i64", False),
        ("matmul", "f64", True),
        ("reduce_prod", "c128", True),
        ("maximum", "c128", True),
        ("sort", "u8", True),
        ("write_item", "f64", True),
        ("true_positions", "b1", True),
        ("log1p", "c128", True),
        ("sin", "c128", True),
        ("exp", "c128", True),
    ):
        found = nodes(name, dtype)
        assert found and all(_is_compiled(node) == is_compiled for node in found), name
