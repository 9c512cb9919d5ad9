"""What Linux's `perf` is told of compiled functions: read again from the files."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracejit.codegen.llvm import perf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="perf is Linux's")

PROGRAM = """
import ctypes, os
import numpy as np
import tracejit

@tracejit.jit
def wave(x):
    y = np.tanh(x) * 2
    return np.sort(y), y.sum()

wave(np.ones(50))
print(os.getpid())
for line in open(f"/tmp/perf-{os.getpid()}.map"):
    address, size, name = line.rstrip().split(" ", 2)
    print(ctypes.string_at(int(address, 16), int(size, 16)).hex(), name)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], bytes]]:
    """The perf map as {name: code}, and the jitdump file."""
    folder = tmp_path_factory.mktemp("perf")
    (folder / "waves.py").write_text(PROGRAM)
    env = os.environ | {"TRACEJIT_PERF": "1", "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "waves.py"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    pid, *lines = done.stdout.splitlines()
    pairs = [line.split(" ", 1) for line in lines]
    yield {name: code for code, name in pairs}, (folder / f"jit-{pid}.dump").read_bytes()
    Path(f"/tmp/perf-{pid}.map").unlink()


def test_kernels_have_the_names_of_their_lines(told: tuple[dict[str, str], bytes]) -> None:
    names, _ = told
    assert {"wave (the call)", "wave (between kernels)"} <= set(names)
    assert any(n.startswith("wave (kernel of waves.py:8") for n in names)


def test_a_jitdump_file_has_the_same_functions_and_their_code(
    told: tuple[dict[str, str], bytes],
) -> None:
    names, dump = told
    magic, version, size, _, _, pid, _, flags = struct.unpack_from("<IIIIIIQQ", dump)
    assert (magic, version, size, flags) == (0x4A695444, 1, 40, 0) and pid > 0
    found, at, times, numbers = {}, size, [], []
    while at < len(dump):
        kind, length, time = struct.unpack_from("<IIQ", dump, at)
        _, _, vma, address, extent, number = struct.unpack_from("<IIQQQQ", dump, at + 16)
        end = dump.index(b"\0", at + 56)
        assert kind == 0 and vma == address and end + 1 + extent == at + length
        found[dump[at + 56 : end].decode()] = dump[end + 1 : at + length].hex()
        times.append(time), numbers.append(number)
        at += length
    assert found == names and times == sorted(times) and numbers == list(range(len(numbers)))


def test_another_value_is_an_error() -> None:
    code = "import numpy, tracejit; tracejit.jit(numpy.sin)(numpy.ones(3))"
    env = os.environ | {"TRACEJIT_PERF": "yes"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "TRACEJIT_PERF is one of 0, 1, map, dump, not 'yes'" in done.stderr


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder", "owner"])
@pytest.mark.parametrize("how", ["map", "dump"])
def test_nothing_of_another_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, how: str
) -> None:
    """In a folder such as /tmp, where anybody can make a file of the name before."""
    monkeypatch.setattr(perf, "_MAPS", str(tmp_path))
    monkeypatch.setattr(perf, "_DUMP", [])
    monkeypatch.setattr(perf, "_functions", lambda *_: [perf._Function("f", 0, 0)])
    monkeypatch.chdir(tmp_path)
    name = f"perf-{os.getpid()}.map" if how == "map" else f"jit-{os.getpid()}.dump"
    path, other = tmp_path / name, tmp_path / "other"
    other.write_bytes(b"other")
    if kind == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        path.write_bytes(b"other")
        os.chown(path, 65534, 65534)
        other = path
    else:
        {"link": path.symlink_to, "hard link": path.hardlink_to}.get(
            kind, lambda _: os.mkfifo(path) if kind == "pipe" else path.mkdir()
        )(other)
    with pytest.warns(RuntimeWarning, match="TRACEJIT_PERF: "):
        perf.note_code(how, [bytes(64)], {})
    assert other.read_bytes() == b"other"
