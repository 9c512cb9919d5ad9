"""What is logged becomes TensorFlow's messages, which TensorBoard reads.

Numbers of fields are those of tensorflow/core/util/event.proto and of tensorflow/core/framework/
summary.proto, tensor.proto and types.proto; each function names them. Of a summary's value:
tag = 1, simple_value = 2, image = 4, histo = 5, tensor = 8, metadata = 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.monitor.images import as_pixels, png
from tracejit.monitor.wire import (
    bytes_field,
    double_field,
    doubles_field,
    float_field,
    int_field,
)

__all__ = [
    "GRAPH",
    "SUMMARY",
    "VERSION",
    "event",
    "histogram",
    "image",
    "metadata",
    "scalar",
    "shape",
    "summary",
    "text",
]

VERSION, GRAPH, SUMMARY = 3, 4, 5
_DT_STRING = 7


def event(wall_time: float, step: int | None, number: int, content: bytes | str) -> bytes:
    """Event: wall_time = 1, step = 2, and one of file_version = 3, graph_def = 4, summary = 5."""
    out = double_field(1, wall_time)
    if step is not None:
        out += int_field(2, step)
    return out + bytes_field(number, content)


def summary(values: list[bytes]) -> bytes:
    """Summary: value = 1, repeated."""
    return b"".join(bytes_field(1, value) for value in values)


def scalar(tag: str, value: Any) -> bytes:
    """A value with simple_value. Raises ValueError for what is not one number."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise ValueError(f"{tag}: a scalar is one real number, not {_described(array)}")
    return bytes_field(1, tag) + float_field(2, array.item())


def histogram(tag: str, values: Any) -> bytes:
    """A value with histo, a HistogramProto: min = 1, max = 2, num = 3, sum = 4, sum_squares = 5,
    bucket_limit = 6, bucket = 7.

    The limits are TensorBoard's: 1e-12 times powers of 1.1, their negatives, and 0. A bucket holds
    what is at least the limit before it, and below its own. Empty buckets side by side are one.
    Raises ValueError for what is no array of real numbers, or empty, or not finite.
    """
    array = np.asarray(values)
    if array.size == 0 or array.dtype.kind not in "biuf":
        raise ValueError(f"{tag}: a histogram is of real numbers, not of {_described(array)}")
    x = array.astype(np.float64).ravel()
    odd = x.size - int(np.isfinite(x).sum())
    if odd:
        raise ValueError(f"{tag}: {odd} of {x.size} values are not finite")
    counts = np.bincount(np.searchsorted(_LIMITS, x, "right"), minlength=len(_LIMITS))
    used = np.flatnonzero(counts)
    # The bucket before a used one says where that begins.
    kept = np.union1d(used, np.maximum(used - 1, 0))
    with np.errstate(over="ignore"):
        moments = (x.min(), x.max(), x.size, x.sum(), (x * x).sum())
    content = b"".join(double_field(number, value) for number, value in enumerate(moments, 1))
    content += doubles_field(6, _LIMITS[kept]) + doubles_field(7, counts[kept])
    return bytes_field(1, tag) + bytes_field(5, content)


def _limits() -> Any:
    positive = 1e-12 * 1.1 ** np.arange(774)  # up to 1e20
    largest = np.finfo(np.float64).max
    return np.concatenate([[-largest], -positive[::-1], [0.0], positive, [largest]])


_LIMITS = _limits()


def image(tag: str, picture: Any, dataformats: str | None) -> bytes:
    """A value with image: height = 1, width = 2, colorspace = 3, encoded_image_string = 4."""
    pixels = as_pixels(tag, picture, dataformats)
    height, width, channels = pixels.shape
    content = int_field(1, height) + int_field(2, width) + int_field(3, channels)
    return bytes_field(1, tag) + bytes_field(4, content + bytes_field(4, png(pixels)))


def text(tag: str, string: str) -> bytes:
    """A value with tensor, a TensorProto: dtype = 1, tensor_shape = 2, string_val = 8."""
    tensor = int_field(1, _DT_STRING) + bytes_field(2, shape(())) + bytes_field(8, string)
    return bytes_field(1, tag) + bytes_field(8, tensor) + bytes_field(9, metadata("text", b""))


def shape(sizes: tuple[int, ...]) -> bytes:
    """TensorShapeProto: dim = 2, repeated, each with size = 1; -1 where it is not known."""
    return b"".join(bytes_field(2, int_field(1, size)) for size in sizes)


def metadata(plugin: str, content: bytes) -> bytes:
    """SummaryMetadata: plugin_data = 1, of plugin_name = 1 and content = 2."""
    return bytes_field(1, bytes_field(1, plugin) + bytes_field(2, content))


def _described(array: Any) -> str:
    return f"an array of dtype {array.dtype} and shape {array.shape}"
