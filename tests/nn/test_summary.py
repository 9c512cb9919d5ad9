"""The table of a model's parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit import nn


class Net(nn.Module):
    def __init__(self, rng: Any) -> None:
        self.conv, self.pool = nn.Conv2d(3, 8, 3, rng, padding=1), nn.MaxPool2d(2)
        self.fc, self.spare = nn.Linear(128, 10, rng), nn.LayerNorm(4)

    def __call__(self, x: Any) -> Any:
        return self.fc(self.pool(nn.relu(self.conv(x))).reshape(len(x), -1))


def test_shapes_parameters_memory_and_operations() -> None:
    net = Net(np.random.default_rng(0))
    found = nn.summary(net, np.ones((2, 3, 8, 8), np.float32))
    rows = {row.path: row for row in found.rows}
    assert list(rows) == ["", "conv", "pool", "fc", "spare"]
    conv = rows["conv"]
    assert (conv.kind, conv.shapes, conv.parameters, conv.bytes) == (
        *("Conv2d", ((2, 8, 8, 8),), 27 * 8 + 8, 4 * (27 * 8 + 8)),
    )
    assert conv.results == 4 * 1024 and conv.flops == 2 * 27 * 1024 + 1024
    assert rows["fc"].flops == 2 * 2 * 10 * 128 + 20
    assert rows[""].parameters == sum(p.size for p in net.parameters().values())
    assert rows[""].flops > conv.flops + rows["fc"].flops
    assert rows["spare"].shapes == () and rows["spare"].flops is None
    assert type(net).__call__ is Net.__call__ and nn.Linear.__call__.__name__ == "__call__"
    lines = str(found).splitlines()
    assert len(lines) == 7 and lines[3].split()[:2] == ["conv", "Conv2d"]


def test_a_network_that_fails_stays_as_it_was() -> None:
    net, original = Net(np.random.default_rng(0)), Net.__call__
    with pytest.raises(ValueError, match="Conv2d"):
        nn.summary(net, np.ones((2, 4, 8, 8), np.float32))
    assert Net.__call__ is original
