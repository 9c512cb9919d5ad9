"""Event files: what is written is read back, by records and fields, and by TensorBoard."""

from __future__ import annotations

import io
import itertools
import os
import struct
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import monitor
from tracejit.monitor.records import crc32c, framed, messages
from tracejit.monitor.wire import bytes_field, double_field, fields, float_field, int_field


def events_of(folder: Path) -> list[dict[int, Any]]:
    """The events of the one file in a folder, as fields by their numbers."""
    (path,) = folder.glob("events.out.tfevents.*")
    return [dict(fields(message)) for message in messages(path.read_bytes())]


def values_of(folder: Path) -> dict[str, dict[int, Any]]:
    """The values of all summaries by their tags."""
    summaries = [event[5] for event in events_of(folder) if 5 in event]
    values = [dict(fields(value)) for summary in summaries for _, value in fields(summary)]
    return {value[1].decode(): value for value in values}


def test_checksums_of_any_length() -> None:
    assert crc32c(b"123456789") == 0xE3069283 and crc32c(b"") == 0
    assert crc32c(bytes(32)) == 0x8A9136AA and crc32c(b"\xff" * 32) == 0x62A8AB43
    data = np.random.default_rng(0).bytes(5000)
    for size in (511, 512, 513, 514, 515, 1023, 4999):
        crc = 0xFFFFFFFF
        for byte in data[:size]:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (crc & 1) * 0x82F63B78
        assert crc32c(data[:size]) == crc ^ 0xFFFFFFFF, size


def test_fields_are_read_back() -> None:
    message = int_field(1, 300) + int_field(20, -1) + double_field(2, 0.1) + float_field(3, 1e300)
    message += bytes_field(4, "grün") + bytes_field(4, b"")
    found = [(1, 300), (20, 2**64 - 1), (2, 0.1), (3, np.inf), (4, "grün".encode()), (4, b"")]
    assert list(fields(message)) == found
    for bad in (message[:1], message[:-3], b"\x03"):
        with pytest.raises(ValueError):
            list(fields(bad))


def test_a_record_that_is_cut_off_harms_no_other() -> None:
    parts = [b"first", b"x" * 2000, b""]
    data = b"".join(map(framed, parts))
    assert list(messages(data)) == parts
    ends = list(itertools.accumulate(len(framed(part)) for part in parts))
    for size in (*range(40), ends[1] - 1, ends[1], ends[1] + 3, ends[2] - 1):
        assert list(messages(data[:size])) == parts[: sum(end <= size for end in ends)]
    for place in (2, 14, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 1
        with pytest.raises(ValueError, match="checksum"):
            list(messages(bytes(damaged)))


def test_scalars_are_read_as_arrays(tmp_path: Path) -> None:
    with monitor.SummaryWriter(tmp_path / "a", flush_secs=1000) as writer:
        for k in range(4):
            writer.add_scalar("loss", np.float32(1 / (k + 1)), 10 * k, wall_time=100.0 + k)
            writer.add_scalars("accuracy", {"train": k, "test": np.array([k / 2])}, k)
        writer.add_scalar("before", True, -5)
        assert events_of(tmp_path / "a") == [
            {1: pytest.approx(time.time(), 0.01), 3: b"brain.Event:2"}
        ]
        writer.flush()
        assert len(events_of(tmp_path / "a")) == 6
    found = monitor.read(tmp_path)
    assert {run: list(tags) for run, tags in found.items()} == {
        "a": ["before", "loss"],
        "a/test": ["accuracy"],
        "a/train": ["accuracy"],
    }
    loss = found["a"]["loss"]
    assert np.array_equal(loss.steps, [0, 10, 20, 30])
    assert np.array_equal(loss.values, np.float32([1, 1 / 2, 1 / 3, 1 / 4]))
    assert np.array_equal(loss.times, [100.0, 101.0, 102.0, 103.0])
    assert np.array_equal(
        monitor.read(tmp_path / "a" / "test")["."]["accuracy"].values, [0, 0.5, 1, 1.5]
    )
    assert found["a"]["before"].steps[0] == -5
    with pytest.raises(ValueError, match="closed"):
        writer.add_scalar("loss", 1.0)
    with pytest.raises(FileNotFoundError):
        monitor.read(tmp_path / "nowhere")


@pytest.mark.parametrize("value", [np.zeros(2), 1j, "1", None], ids=repr)
def test_what_is_no_number_is_refused(tmp_path: Path, value: Any) -> None:
    with monitor.SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="loss"):
            writer.add_scalar("loss", value)


def test_histograms_count_by_exponential_buckets(tmp_path: Path) -> None:
    x = np.concatenate([np.random.default_rng(0).normal(0, 3, 500), [0.0, 1e-30, -1e25, 2e20]])
    with monitor.SummaryWriter(tmp_path) as writer:
        writer.add_histogram("x", x.astype(np.float64), 1)
        writer.add_histogram("ones", np.ones((3, 4), np.int32), 1)
        for bad in ([], [np.nan], [np.inf, 1.0], ["a"]):
            with pytest.raises(ValueError, match="bad"):
                writer.add_histogram("bad", bad)
    values = values_of(tmp_path)
    found = dict(fields(values["x"][5]))
    assert [found[k] for k in range(1, 6)] == [x.min(), x.max(), x.size, x.sum(), (x * x).sum()]
    limits, counts = (np.frombuffer(found[k]) for k in (6, 7))
    assert (np.diff(limits) > 0).all() and counts.sum() == x.size
    for k, count in enumerate(counts):
        low = limits[k - 1] if k else -np.inf
        assert ((x >= low) & (x < limits[k])).sum() == count
        if count and 0 < abs(low) < 1e20 and 0 < abs(limits[k]) < 1e20:
            assert max(limits[k] / low, low / limits[k]) == pytest.approx(1.1)
    ones = dict(fields(values["ones"][5]))
    assert np.frombuffer(ones[7]).tolist() == [0.0, 12.0]


def decoded(png: bytes) -> Any:
    """The pixels of a PNG file without filters."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size)[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, {0: 1, 4: 2, 2: 3, 6: 4}[colour])


def test_pictures_of_every_layout(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    grey, colour = rng.random((5, 7)), rng.integers(0, 256, (6, 9, 3)).astype(np.uint8)
    with monitor.SummaryWriter(tmp_path) as writer:
        writer.add_image("grey", grey.astype(np.float32) * 2 - 0.5)
        writer.add_image("hwc", colour)
        writer.add_image("chw", colour.transpose(2, 0, 1))
        writer.add_image("narrow", np.zeros((3, 5, 3), np.uint8), dataformats="HWC")
        writer.add_image("alpha", rng.random((4, 5, 6)), dataformats="CHW")
        writer.add_images("many", np.ones((5, 2, 3), bool))
        for bad in (
            np.zeros((3, 5, 3)),
            np.zeros(4),
            np.full((4, 5), np.nan),
            np.zeros((5, 6), int),
        ):
            with pytest.raises(ValueError, match="bad"):
                writer.add_image("bad", bad)
        with pytest.raises(ValueError, match="bad"):
            writer.add_images("bad", np.zeros((0, 4, 4)))
    values = values_of(tmp_path)
    images = {tag: dict(fields(value[4])) for tag, value in values.items()}
    pixels = {tag: decoded(image[4]) for tag, image in images.items()}
    for tag, image in images.items():
        assert (image[1], image[2], image[3]) == pixels[tag].shape
    cut = np.clip(grey.astype(np.float32).astype(float) * 2 - 0.5, 0, 1)
    assert np.abs(pixels["grey"][..., 0] - 255 * cut).max() < 0.51
    assert np.array_equal(pixels["hwc"], colour) and np.array_equal(pixels["chw"], colour)
    assert pixels["narrow"].shape == (3, 5, 3) and pixels["alpha"].shape == (5, 6, 4)
    assert pixels["many"].shape == (5, 11, 1) and (pixels["many"] == 255).sum() == 5 * 6


def add_many(add_scalar: Any, tag: str) -> None:
    for k in range(50):
        add_scalar(tag, k, k)


def test_a_writer_is_shared_by_threads_and_flushed_by_time(tmp_path: Path) -> None:
    writer = monitor.SummaryWriter(tmp_path, flush_secs=0.01)
    threads = [
        threading.Thread(target=add_many, args=(writer.add_scalar, f"t{t}")) for t in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    end = time.monotonic() + 20
    while len(events_of(tmp_path)) < 201 and time.monotonic() < end:
        time.sleep(0.01)
    found = monitor.read(tmp_path)["."]
    assert all(np.array_equal(found[f"t{t}"].values, np.arange(50)) for t in range(4))
    writer.add_scalar("last", 1.0)
    del writer, threads  # What is left is written when it is collected.
    assert "last" in monitor.read(tmp_path)["."]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_leaves_the_file_alone(tmp_path: Path) -> None:
    with monitor.SummaryWriter(tmp_path, flush_secs=1000) as writer:
        writer.add_scalar("a", 1.0)
        child = os.fork()
        if not child:
            try:
                writer.flush()
                writer.add_scalar("b", 1.0)
            except ValueError:
                writer.close()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
    assert list(monitor.read(tmp_path)["."]) == ["a"] and len(events_of(tmp_path)) == 2


def shrunk(y: Any) -> Any:
    return np.tanh(y) * 2.0


def looped(x: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        y = shrunk(y) if y.sum() > 3.0 else y + 1.0
    return y, np.exp(x) + np.exp(2.0 * x)


def nodes_of(graph: bytes) -> dict[str, dict[str, Any]]:
    """The nodes of a GraphDef by their names."""
    found = {}
    for number, message in fields(graph):
        if number == 1:
            parts = list(fields(message))
            (name, op), entries = parts[:2], [dict(fields(v)) for k, v in parts if k == 5]
            assert (name[0], op[0]) == (1, 2) and name[1].decode() not in found
            found[name[1].decode()] = {
                "op": op[1].decode(),
                "inputs": [v.decode() for k, v in parts if k == 3],
                "device": "".join(v.decode() for k, v in parts if k == 4),
                "attributes": {e[1].decode(): dict(fields(e[2])) for e in entries},
            }
    return found


def test_graphs_have_the_primitives_of_control_flow_in_scopes_of_lines(tmp_path: Path) -> None:
    f = tracejit.jit(looped)
    with monitor.SummaryWriter(tmp_path) as writer:
        writer.add_graph(f, np.ones(5), 4)
        writer.add_graph(f, np.ones(5), 4, stage="trace")
        with pytest.raises(ValueError, match="no stage with a graph llvm"):
            writer.add_graph(f, np.ones(5), 4, stage="llvm")
    flat, trace = (nodes_of(event[4]) for event in events_of(tmp_path)[1:])
    ops = {node["op"] for node in flat.values()}
    assert {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "Tanh"} <= ops
    assert "While" in {node["op"] for node in trace.values()}
    for nodes in (flat, trace):
        for node in nodes.values():
            for source in node["inputs"]:
                name, _, k = source.partition(":")
                shapes = dict(fields(nodes[name]["attributes"]["_output_shapes"][1]))
                assert 7 in shapes and (not k or nodes[name]["op"] == "Switch")
    line = shrunk.__code__.co_firstlineno + 1
    (tanh,) = [name for name, node in flat.items() if node["op"] == "Tanh"]
    assert tanh == f"shrunk/line_{line}/fusion/tanh"
    attributes = flat[tanh]["attributes"]
    assert attributes["source"][2].endswith(b"return np.tanh(y) * 2.0") and attributes["T"] == {
        6: 2
    }
    (shape,) = [v for _, v in fields(attributes["_output_shapes"][1])]
    assert dict(fields(dict(fields(shape))[2])) == {1: 5}
    frames = [node["attributes"] for node in flat.values() if node["op"] == "Enter"]
    assert all(frame["frame_name"] == {2: b"loop1"} for frame in frames)


def placed(x: Any) -> Any:
    with tracejit.device("worker:1"):
        y = np.tanh(x)
    with tracejit.device("host"):
        return np.cos(y)


def test_graphs_on_several_devices_have_devices_and_edges_between_them(tmp_path: Path) -> None:
    with monitor.SummaryWriter(tmp_path) as writer:
        writer.add_graph(tracejit.jit(placed), np.ones(5), stage="partition")
    nodes = nodes_of(events_of(tmp_path)[1][4])
    devices = {node["op"]: node["device"] for node in nodes.values()}
    assert devices["Tanh"] == "/job:worker/task:1" and devices["Cos"] == "/job:host/task:0"
    received = {name: node for name, node in nodes.items() if node["op"] == "_Recv"}
    assert received
    for node in received.values():
        (sender,) = (nodes[x] for x in node["inputs"] if nodes[x]["op"] == "_Send")
        assert sender["device"] != node["device"]


def everything(folder: Path) -> None:
    """A run with an event of each kind."""
    with monitor.SummaryWriter(folder) as writer:
        for k in range(3):
            writer.add_scalar("loss", 1 / (k + 1), k)
            writer.add_scalars("accuracy", {"train": k}, k)
        writer.add_histogram("weights", np.linspace(-1, 1, 100), 2)
        writer.add_image("picture", np.zeros((4, 5)), 2)
        writer.add_text("note", "**bold**", 1)
        settings = {"rate": 0.1, "layers": 3, "name": "adam", "nesterov": True}
        writer.add_hparams(settings, {"test/accuracy": 0.97}, 3)
        writer.add_graph(looped, np.ones(5), 4)


def test_texts_and_settings(tmp_path: Path) -> None:
    everything(tmp_path)
    values = values_of(tmp_path)
    assert dict(fields(values["note"][8]))[8] == b"**bold**"
    assert values["test/accuracy"][2] == np.float32(0.97)
    plugin = dict(fields(dict(fields(values["_hparams_/session_start_info"][9]))[1]))
    assert plugin[1] == b"hparams"
    start = dict(fields(plugin[2]))[3]
    entries = [dict(fields(v)) for k, v in fields(start) if k == 1]
    found = {e[1].decode(): dict(fields(e[2])) for e in entries}
    assert found == {"rate": {2: 0.1}, "layers": {2: 3.0}, "name": {3: b"adam"}, "nesterov": {4: 1}}


def test_tensorboard_reads_it_all(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    from tensorboard.plugins.hparams import plugin_data_pb2

    everything(tmp_path)
    run = accumulator.EventAccumulator(str(tmp_path))
    run.Reload()
    assert [(e.step, e.value) for e in run.Scalars("loss")] == [
        (k, np.float32(1 / (k + 1))) for k in range(3)
    ]
    histogram = run.Histograms("weights")[0].histogram_value
    assert sum(histogram.bucket) == histogram.num == 100 and histogram.min == -1
    image = run.Images("picture")[0]
    assert (image.width, image.height) == (5, 4)
    assert run.Tensors("note")[0].tensor_proto.string_val == [b"**bold**"]
    assert run.summary_metadata["note"].plugin_data.plugin_name == "text"
    (path,) = tmp_path.glob("events.*")
    data = {}
    for event in run_events(path):
        for value in event.summary.value:
            data[value.tag] = value.metadata.plugin_data.content
    for name in ("experiment", "session_start_info", "session_end_info"):
        found = plugin_data_pb2.HParamsPluginData.FromString(data[f"_hparams_/{name}"])
        assert found.WhichOneof("data") == name
    assert {n.op for n in run.Graph().node} >= {"Switch", "Merge", "Result"}


def run_events(path: Path) -> Any:
    """The events of a file as TensorBoard's classes."""
    from tensorboard.compat.proto.event_pb2 import Event

    return [Event.FromString(message) for message in messages(path.read_bytes())]


def test_curves_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = {"train/loss": [3.0, 2.0, 1.0], "test/loss": ([0, 2], [4.0, 2.0]), "rate": np.ones(3)}
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match="pip install matplotlib"):
            monitor.plot(history)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = monitor.plot(history)
    loss, rate = figure.axes
    assert [line.get_label() for line in loss.lines] == ["train", "test"]
    assert loss.lines[1].get_xydata().tolist() == [[0, 4], [2, 2]] and len(rate.lines) == 1
    figure.savefig(io.BytesIO())
    everything(tmp_path)
    (axes,) = monitor.plot(tmp_path, "loss", logy=True).axes
    assert axes.get_yscale() == "log" and axes.get_title() == "loss"
    (axes,) = monitor.plot(tmp_path, "accuracy").axes
    assert [line.get_label() for line in axes.lines] == ["./test", "train"]
    with pytest.raises(KeyError, match="no curve named nothing"):
        monitor.plot(history, "nothing")
