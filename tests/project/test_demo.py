"""The demo runs on real and generated data, writes readable pictures, and notices wrong answers."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import tracejit
from tracejit import demo
from tracejit.cli import main
from tracejit.demo import data as demo_data
from tracejit.demo import programs as demo_programs


def read_png(path: Path) -> np.ndarray:
    """An RGB picture without filters, every chunk's checksum verified."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 2, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)


def test_real_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sklearn.datasets import load_sample_image

    assert main(["demo", "--quick", "--report", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "china.jpg" in printed
    assert "generated" not in printed.splitlines()[0].replace("options from a seeded generator", "")
    photo = load_sample_image("china.jpg")
    assert np.array_equal(read_png(tmp_path / "before.png"), photo)
    want = demo_programs.develop(photo, demo_programs.gaussian_weights(2.0), 0.6, 0.8)
    assert np.array_equal(read_png(tmp_path / "after.png"), want)
    difference = np.abs(want.astype(int) - photo)
    assert np.array_equal(read_png(tmp_path / "difference.png"), difference)
    page = (tmp_path / "demo.html").read_text()
    assert page.count("data:image/png;base64,") == 3 and page.count('class="tracejit"') == 4
    assert "develop" in (tmp_path / "code.html").read_text()
    for name in ("unsharp mask", "logistic-regression", "nearest centroid", "Black-Scholes"):
        assert name in printed


def test_a_process_of_its_own_ends_in_silence(tmp_path: Path) -> None:
    """What compiled code watches may die after the modules that would be told."""
    command = [sys.executable, "-m", "tracejit", "demo", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert (done.returncode, done.stderr) == (0, "")


def test_generated_data_says_so(
    without_extra: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "generated picture; a generated table" in printed.splitlines()[0]
    assert "tracejit[demo]" in printed
    before, after = (read_png(tmp_path / name) for name in ("before.png", "after.png"))
    assert np.array_equal(before, demo_data.generated_photo())
    assert before.shape == after.shape
    assert not np.array_equal(before, after)


class Wrong:
    """Stands for a compiled function whose answer is off by one in one element of one result."""

    def __init__(self, function: object) -> None:
        self.function = function

    def __call__(self, *arguments: object) -> object:
        result = self.function(*arguments)
        first = result[0] if isinstance(result, tuple) else result
        wrong = np.array(first)
        wrong[(0,) * wrong.ndim] += 1
        wrong = wrong if isinstance(first, np.ndarray) else wrong[()]
        return (wrong, *result[1:]) if isinstance(result, tuple) else wrong

    def report(self) -> str:
        return "wrong"


def test_a_wrong_answer_fails_the_demo(
    without_extra: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tracejit, "jit", Wrong)
    assert main(["demo", "--quick", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("DISAGREES") == 4


def market_program() -> demo.Demo:
    return demo.option_program(100)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda call, put: (call, put), None),
        (lambda call, put: (call,), "1 results instead of 2"),
        (lambda call, put: (call.astype(np.float32), put), "result 0 is"),
        (lambda call, put: (call, put[:, np.newaxis]), "result 1 is"),
        (lambda call, put: (call, put + 1e-12 * put.max()), "result 1 is off by"),
        (lambda call, put: (np.where(call > call.min(), call, np.nan), put), "result 0 is off by"),
    ],
)
def test_disagreement_names_what_differs(change, said: str | None) -> None:
    program = market_program()
    want = program.function(*program.arguments)
    found = demo.disagreement(program, want, change(*want))
    assert found is said if said is None else found.startswith(said)


def test_programs_compute_what_they_say() -> None:
    """Against facts that do not come from the programs themselves."""
    spot, strike, years, rate, _ = market = demo_programs.option_market(1000)
    call, put = demo_programs.black_scholes(*market)
    parity = spot - strike * np.exp(-rate * years)
    np.testing.assert_allclose(call - put, parity, atol=1e-12 * spot.max())

    table = np.random.default_rng(0).random((6, 4))
    labels = np.array([0, 1, 2, 0, 1, 2])
    even = demo_programs.logistic_loss(table, labels, np.zeros((4, 3)), np.zeros(3), 1.0)
    np.testing.assert_allclose(even, np.log(3), rtol=1e-15)

    nearest, distance = demo_programs.nearest_centroid(table, table[:3])
    assert list(nearest[:3]) == [0, 1, 2]
    assert not distance[:3].any()
    np.testing.assert_allclose(distance[3], np.linalg.norm(table[3] - table[:3], axis=1).min())

    flat = np.full((20, 30, 3), 90, np.uint8)
    weights = demo_programs.gaussian_weights(2.0)
    assert np.unique(demo_programs.develop(flat, weights, 0.6, 0.8)).size == 1
