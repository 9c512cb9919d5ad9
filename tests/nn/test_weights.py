"""Weights in safetensors files, exchanged with PyTorch and with the format's own library."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tracejit import nn
from tracejit.base.tensor_files import NotSafetensors, TensorFile


class Net(nn.Module):
    def __init__(self, seed: int, dtype: Any = np.float32) -> None:
        rng = np.random.default_rng(seed)
        self.layers = [nn.Linear(3, 4, rng, dtype=dtype), nn.BatchNorm(4, dtype=dtype)]
        self.out = nn.Linear(4, 2, rng, dtype=dtype)


def equal(a: Any, b: Any) -> bool:
    return list(a) == list(b) and all(np.array_equal(a[k], b[k]) for k in a)


def test_there_and_back(tmp_path: Path) -> None:
    old, new, path = Net(1), Net(2), tmp_path / "net.safetensors"
    nn.save_weights(path, old)
    place = new.out.weight
    assert nn.load_weights(path, new) is new
    assert equal(old.state_dict(), new.state_dict()) and new.out.weight is place
    read = load_file(path)
    assert sorted(read) == sorted(old.state_dict()) and "layers.1.running_mean" in read
    assert all(np.array_equal(read[name], x) for name, x in old.state_dict().items())
    save_file({name: np.asarray(2 * x) for name, x in read.items()}, path)
    nn.load_weights(path, new)
    assert np.array_equal(new.layers[0].weight, 2 * old.layers[0].weight)


def test_names_dtypes_and_shapes(tmp_path: Path) -> None:
    old, path = Net(1), tmp_path / "net.safetensors"
    save_file({f"model.{name}": x for name, x in old.state_dict().items()}, path)
    with pytest.raises(KeyError, match=r"out\.weight is missing"):
        nn.load_weights(path, Net(2))
    wide = nn.load_weights(path, Net(2, np.float64), rename=lambda n: n[6:])
    assert wide.out.weight.dtype == np.float64
    assert np.array_equal(wide.out.weight, old.out.weight)
    with pytest.raises(ValueError, match="two arrays would be a"):
        nn.load_weights(path, old, rename=lambda name: "a")
    by_dict = nn.load_weights(path, Net(2), rename={f"model.{x}": x for x in ("out", "layers")})
    assert equal(by_dict.state_dict(), old.state_dict())
    part = nn.Linear(4, 2, np.random.default_rng(0))
    nn.load_weights(path, part, strict=False, rename=lambda n: n.removeprefix("model.out."))
    assert np.array_equal(part.weight, old.out.weight)
    other = nn.Linear(5, 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"weight has the shape \(2, 5\), not \(2, 4\)"):
        nn.load_weights(path, other, strict=False, rename=lambda n: n.removeprefix("model.out."))
    old.out.weight = old.out.weight.astype(np.longdouble)
    with pytest.raises(TypeError, match=r"out\.weight has the dtype (longdouble|float128)"):
        nn.save_weights(path, old)


def test_tied_weights(tmp_path: Path) -> None:
    net, path = Net(1), tmp_path / "net.safetensors"
    net.tied = net.out
    nn.save_weights(path, net)
    found = load_file(path)
    assert np.array_equal(found["tied.weight"], found["out.weight"])
    once = {name: x for name, x in found.items() if not name.startswith("tied")}
    save_file({name: np.asarray(x + 1) for name, x in once.items()}, path)
    nn.load_weights(path, net)
    assert np.array_equal(net.tied.weight, found["out.weight"] + 1)
    save_file({**found, "tied.weight": found["tied.weight"] + 2}, path)
    with pytest.raises(ValueError, match=r"tied\.weight.*are one array here, and two"):
        nn.load_weights(path, net)


def header(entries: dict[str, Any], data: bytes = b"") -> bytes:
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_bfloat16_becomes_float32(tmp_path: Path) -> None:
    path = tmp_path / "b.safetensors"
    values = np.array([1.5, -2.0, np.inf, 3.0e38], np.float32)
    words = (values.view(np.uint32) >> 16).astype("<u2")
    entry = {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}
    path.write_bytes(header({"w": entry}, words.tobytes()))
    with TensorFile(path) as file:
        found = file.read("w")
    assert found.dtype == np.float32 and found.view(np.uint32).tolist() == [
        int(x) << 16 for x in words
    ]
    path.write_bytes(header({"w": {**entry, "dtype": "F8_E4M3", "shape": [8]}}, words.tobytes()))
    with TensorFile(path) as file, pytest.raises(TypeError, match="w has the dtype F8_E4M3"):
        file.read("w")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 something else",
        (2**62).to_bytes(8, "little") + b"{}",
        header({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"1234567"),
        header({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"123456789"),
        header({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, b"12345678"),
        header({"w": {"dtype": "F32", "shape": [-2], "data_offsets": [0, -8]}}),
        header({"w": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, b"12345678"),
        header({k: {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]} for k in "ab"}, b"12"),
        header({"w": [1]}),
        header({"w": {"dtype": "F32"}}),
        header([]),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_whole_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(data)
    net = nn.Linear(1, 1, np.random.default_rng(0))
    with pytest.raises(NotSafetensors, match=r"x\.safetensors is no whole"):
        nn.load_weights(path, net)


def test_exchange_with_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = pytest.importorskip("safetensors.torch")
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    theirs[1].running_mean += 0.5
    ours, path = Net(1), tmp_path / "net.safetensors"
    files.save_file(theirs.state_dict(), path)
    nn.load_weights(path, ours.layers)
    x = np.random.default_rng(0).random((5, 3)).astype(np.float32)
    ours.eval()
    expected = theirs.eval()(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(ours.layers[1](ours.layers[0](x)), expected, atol=1e-6)
    other = Net(3)
    nn.save_weights(path, other.layers)
    theirs.load_state_dict(files.load_file(path))
    assert np.array_equal(theirs[0].weight.detach().numpy(), other.layers[0].weight)
    files.save_file(theirs.to(torch.bfloat16).state_dict(), path)
    nn.load_weights(path, ours.layers)
    expected = theirs[0].weight.float().detach().numpy()
    assert np.array_equal(ours.layers[0].weight, expected)
