"""What fits into which objects: parts, other names, shapes and dtypes, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracejit import checkpoint


class Layer:
    def __init__(self, *shape: int, seed: float = 0.0, dtype: Any = np.float32) -> None:
        self.weight, self.bias = np.full(shape, seed, dtype), np.full(shape[:1], seed, dtype)


class Net:
    def __init__(self, seed: float = 0.0, dtype: Any = np.float32) -> None:
        self.body = [Layer(2, 3, seed=seed, dtype=dtype), Layer(2, 2, seed=seed, dtype=dtype)]
        self.head = Layer(4, 2, seed=seed, dtype=dtype)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    checkpoint.save(tmp_path, step=1, net=Net(1.5), rate=0.5)
    return tmp_path


def values(net: Any) -> list[float]:
    arrays = (net.body[0].weight, net.body[0].bias, net.body[1].weight, net.head.bias)
    return [float(x.flat[0]) for x in arrays]


def refused(run: Path, net: Any, **options: Any) -> str:
    """What is said of objects into which nothing has been put."""
    with pytest.raises(checkpoint.MismatchError) as error:
        checkpoint.restore(run, net=net, **options)
    assert values(net) == [0] * 4
    return str(error.value)


def test_each_mismatch_is_named_and_nothing_changes(run: Path) -> None:
    net: Any = Net()
    net.body[0].weight = np.zeros((3, 2), np.float32)
    net.head.extra = np.zeros(2)
    net.head.weight.flags.writeable = False
    del net.body[1].bias
    text = refused(run, net)
    assert "net.body.0.weight: (2, 3) in the checkpoint, (3, 2) here" in text
    assert "net.head.extra is not in the checkpoint" in text
    assert "net.body.1.bias is only in the checkpoint" in text
    assert "net.head.weight is read-only" in text


def test_other_dtypes(run: Path) -> None:
    wide, narrow = Net(dtype=np.float64), Net(dtype=np.float16)
    checkpoint.restore(run, net=wide)
    assert values(wide) == [1.5] * 4 and wide.head.weight.dtype == np.float64
    assert "net.head.weight: float32 in the checkpoint, float16 here" in refused(run, narrow)
    checkpoint.restore(run, net=narrow, cast=True)
    assert values(narrow) == [1.5] * 4 and narrow.head.weight.dtype == np.float16
    checkpoint.save(run / "complex", step=1, net=Net(1.0, np.complex64))
    assert "complex64" in refused(run / "complex", Net(), cast=True)


def test_other_shapes_only_on_request(run: Path) -> None:
    net = Net()
    net.body[0].weight = np.zeros((3, 2), np.float32)
    assert "(2, 3)" in refused(run, net, reshape="net.head")
    checkpoint.restore(run, net=net, reshape=["net.body.*.weight"])
    assert values(net) == [1.5] * 4


def test_parts(run: Path) -> None:
    for only, expected in (
        ("net.body", [1.5, 1.5, 1.5, 0]),
        (["net.head.bias", "net.*.0.weight"], [1.5, 0, 0, 1.5]),
        (lambda path: path.endswith("bias"), [0, 1.5, 0, 1.5]),
    ):
        net = Net()
        net.head.weight = np.zeros((9, 9))
        if isinstance(only, str):
            net.head = Layer(5, 5)
        checkpoint.restore(run, net=net, only=only)
        assert values(net) == expected
    assert checkpoint.restore(run).values == {}
    assert checkpoint.restore(run, rate=0.0).values == {"rate": 0.5}


def test_what_only_one_has_is_left_without_strict(run: Path) -> None:
    net: Any = Net()
    net.head.extra = np.zeros(2)
    net.body.append(Layer(1, 1))
    del net.body[1].bias
    assert "net.body.2 is not in the checkpoint" in refused(run, net)
    found = checkpoint.restore(run, net=net, other=np.zeros(2), strict=False)
    assert values(net) == [1.5] * 4
    assert found.missing == ("net.body.2", "net.head.extra", "other")
    assert found.unexpected == ("net.body.1.bias",)
    with pytest.raises(
        checkpoint.MismatchError, match=r"\(4, 2\) in the checkpoint, \(4, 3\) here"
    ):
        net.head = Layer(4, 3)
        checkpoint.restore(run, net=net, strict=False)


class Renamed:
    def __init__(self) -> None:
        self.trunk = {"a.b": Layer(2, 3), 1: Layer(2, 2)}
        self.top = Layer(4, 2)


def test_other_names(run: Path) -> None:
    net: Any = Renamed()
    found = checkpoint.restore(
        run,
        model=net,
        rename=lambda path: (
            path.replace("net.head", "model.top")
            .replace("net.body.1", "model.trunk.1")
            .replace("net.body.0", "model.first")
        ),
        strict=False,
    )
    assert found.missing == ("model.trunk.a.b",)
    assert found.unexpected == ("model.first",)
    assert net.top.weight[0, 0] == net.trunk[1].bias[0] == 1.5
    swapped = Net()
    swapped.stem = swapped.__dict__.pop("body")  # type: ignore[attr-defined]
    checkpoint.restore(run, net=swapped, rename={"net.body": "net.stem"})
    assert swapped.stem[1].weight[0, 0] == 1.5  # type: ignore[attr-defined]
    with pytest.raises(checkpoint.MismatchError, match=r"would be net\.head\.bias"):
        checkpoint.restore(run, net=Net(), rename={"net.body.0.bias": "net.head.bias"})


def test_names_with_dots_in_a_dict(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, step=1, m={"a.weight": np.ones(2), "b": np.ones(1)})
    new = {"c.weight": np.zeros(2), "b": np.zeros(1)}
    checkpoint.restore(tmp_path, m=new, rename={"m.a": "m.c"})
    assert new["c.weight"].tolist() == [1, 1] and new["b"][0] == 1


def test_what_is_shared_on_one_side_only_is_refused(tmp_path: Path) -> None:
    a, b = np.zeros(3), np.ones(3)
    checkpoint.save(tmp_path / "two", step=1, x=[a, b])
    checkpoint.save(tmp_path / "one", step=1, x=[a, a])
    with pytest.raises(checkpoint.MismatchError, match=r"x\.0 and x\.1 are one here, and two"):
        checkpoint.restore(tmp_path / "two", x=[a, a])
    with pytest.raises(checkpoint.MismatchError, match=r"x\.0 and x\.1 are one in the checkpoint"):
        checkpoint.restore(tmp_path / "one", x=[a, b])
    checkpoint.restore(tmp_path / "one", x=[a, b], strict=False)
    assert b.tolist() == [0, 0, 0]


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    old: dict[str, Any] = {
        "class": Layer(1, 1),
        "array": np.zeros(2),
        "stream": np.random.default_rng(1),
        "code": np.tanh,
        "text": "a",
        "list": [np.zeros(1)],
    }
    new: dict[str, Any] = {
        "class": Net(),
        "array": [1, 2],
        "stream": np.random.Generator(np.random.MT19937(1)),
        "code": np.sin,
        "text": np.zeros(2),
        "list": (np.zeros(1),),
    }
    checkpoint.save(tmp_path, step=1, x=old)
    with pytest.raises(checkpoint.MismatchError) as error:
        checkpoint.restore(tmp_path, x=new)
    text = str(error.value)
    for name in old:
        assert f"x.{name} is " in text, name
