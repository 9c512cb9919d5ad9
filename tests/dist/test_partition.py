"""Networks that are cut while processes train: messages are lost, and no connection is closed.

The networks are namespaces of the tests' own, which they remove with all that runs in them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dist import kill
from tests.dist.test_launch import start


def ip(*command: str) -> str:
    found = subprocess.run(["ip", *command], capture_output=True, text=True, timeout=120)
    if found.returncode:
        raise OSError(f"ip {' '.join(command)}: {found.stdout}{found.stderr}")
    return found.stdout


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Two machines, as it were, with a wire between them: 10.77.3.1 and 10.77.3.2."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("there is no command ip")
    names = tuple(f"tracejit-{secrets.token_hex(3)}" for _ in range(2))
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        first, second = names
        ip("-n", first, "link", "add", "wire", "type", "veth", "peer", "wire", "netns", second)
        for k, name in enumerate(names):
            ip("-n", name, "address", "add", f"10.77.3.{k + 1}/24", "dev", "wire")
            ip("-n", name, "link", "set", "wire", "up")
    except OSError as e:
        _remove(names)
        pytest.skip(f"no network can be made here: {e}")
    try:
        yield first, second
    finally:
        _remove(names)


def _remove(names: tuple[str, ...]) -> None:
    there = ip("netns", "list").split()
    for name in names:
        if name in there:
            for pid in ip("netns", "pids", name).split():
                subprocess.run(["kill", "-9", pid], check=False, capture_output=True)
            ip("netns", "del", name)


@pytest.fixture
def short_folder() -> Iterator[str]:
    """A folder whose name leaves room for those of sockets."""
    with tempfile.TemporaryDirectory(prefix="tj", ignore_cleanup_errors=True) as folder:
        yield folder


def _readable(pipes: tuple[int, ...]) -> list[int]:
    return select.select(pipes, [], [], 0.2)[0]


def cut_while_it_trains(
    namespaces: tuple[str, str], device: str, folder: Path, until: str, *options: str
) -> str:
    """What a training in the first one says that has its network cut; it is let go on until it says
    something. Raises AssertionError where it does not end well.
    """
    within = ("ip", "netns", "exec", namespaces[0])
    process = start(
        "survives", str(folder), "300", options=options, script=kill.SCRIPT, within=within
    )
    end = time.monotonic() + 300
    assert process.stdout is not None and process.stderr is not None
    pipes = process.stdout.fileno(), process.stderr.fileno()
    out = ""
    while process.poll() is None and time.monotonic() < end:
        out += "".join([os.read(pipe, 1 << 16).decode() for pipe in _readable(pipes)])
        if "saved" in out and "the network is cut" not in out:
            ip("-n", namespaces[0], "link", "set", device, "down")
            out += "the network is cut\n"
        if until in out.partition("the network is cut")[2]:
            (folder / "enough").touch()
    process.terminate()
    rest, more = process.communicate(timeout=60)
    assert process.returncode == 0, out + rest + more
    return out + rest + more


def test_the_engine_of_one_machine_needs_no_network(
    namespaces: tuple[str, str], tmp_path: Path
) -> None:
    options = ("-n", "3", "--servers", "2", "--mode", "async:8")
    out = cut_while_it_trains(namespaces, "lo", tmp_path, "saved", *options)
    assert "[0] survived" in out.partition("the network is cut")[2]
    assert "tracejit: " not in out


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_a_machine_that_is_cut_off(
    namespaces: tuple[str, str],
    tmp_path: Path,
    short_folder: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its processes are lost after a time, and others take their place on the machine that is left,
    or all begin anew there; what was saved is gone on from.
    """
    for name, value in (("AUTH_MODE", "disabled"), ("DEDUP_LOGS", "0"), ("COLOR_PREFIX", "0")):
        monkeypatch.setenv(f"RAY_{name}", value)
    # Others find a cluster by what lies there.
    monkeypatch.setenv("RAY_TMPDIR", short_folder)
    ray = str(Path(sys.executable).parent / "ray")
    common = ("--num-cpus=2", "--object-store-memory=80000000", "--disable-usage-stats")
    address = "10.77.3.1:6399"
    head = ("--head", "--port=6399", "--include-dashboard=false")
    for k, first in enumerate((head, (f"--address={address}",))):
        node = f"--node-ip-address=10.77.3.{k + 1}"
        ip("netns", "exec", namespaces[k], ray, "start", *first, node, *common)
    # Not before: it is the address of those that are started.
    monkeypatch.setenv("RAY_ADDRESS", address)
    options = ("-n", "3", "--mode", "async", "--engine", "ray", "--restarts", "4")
    out = cut_while_it_trains(namespaces, "wire", tmp_path, "tracejit: process", *options)
    after = out.partition("the network is cut")[2]
    assert "started again" in after or "begin anew" in after
    assert "survived" in after
    saved = 0
    for word, count in re.findall(r"(saved|begins) (\d+)", out):
        assert word == "saved" or int(count) >= saved
        saved = int(count)
