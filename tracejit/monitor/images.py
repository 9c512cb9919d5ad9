"""Arrays become pixels, many pictures one, and pixels a PNG file."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

__all__ = ["as_pixels", "png", "tiled"]

#: PNG's colour types by the number of channels: grey, grey and alpha, RGB, RGB and alpha.
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}


def as_pixels(tag: str, picture: Any, dataformats: str | None) -> Any:
    """A picture as uint8 [height, width, channels].

    Floats and bools go from 0 to 1, what is beyond is cut; uint8 stays. `dataformats` is HW, HWC or
    CHW; by default the axis of 1 to 4 entries at either end is that of the channels. Raises
    ValueError for another shape, dtype or layout, for NaN, and where both ends may be channels.
    """
    x = np.asarray(picture)
    layout = dataformats or _layout(tag, x.shape)
    if sorted(layout) not in (["H", "W"], ["C", "H", "W"]) or len(layout) != x.ndim:
        raise ValueError(f"{tag}: the shape {x.shape} is no picture with the axes {layout}")
    if len(layout) == 2:
        x, layout = x[..., None], layout + "C"
    x = x.transpose([layout.index(axis) for axis in "HWC"])
    if x.shape[2] not in _COLOURS or not x.size:
        raise ValueError(f"{tag}: a picture has 1 to 4 channels and some pixels, not {x.shape}")
    if x.dtype.kind in "fb":
        if np.isnan(x).any():
            raise ValueError(f"{tag}: some pixels are NaN")
        x = np.rint(np.clip(x.astype(np.float64), 0.0, 1.0) * 255.0).astype(np.uint8)
    if x.dtype != np.uint8:
        raise ValueError(f"{tag}: pixels are uint8, or floats from 0 to 1, not {x.dtype}")
    return x


def _layout(tag: str, shape: tuple[int, ...]) -> str:
    if len(shape) != 3:
        return "HW"
    first, last = shape[0] in _COLOURS, shape[2] in _COLOURS
    if first and last:
        raise ValueError(f'{tag}: of the shape {shape} say dataformats="HWC" or "CHW"')
    return "CHW" if first else "HWC"


def tiled(tag: str, pictures: Any, dataformats: str | None) -> Any:
    """Pictures, one for each entry of the first axis, in about as many rows as columns, with a line
    of zeros between: uint8 [height, width, channels]. Raises as `as_pixels`.
    """
    if not len(pictures):
        raise ValueError(f"{tag}: there are no pictures")
    layout = dataformats.removeprefix("N") if dataformats else None
    tiles = np.stack([as_pixels(tag, picture, layout) for picture in pictures])
    n, height, width, channels = tiles.shape
    columns = int(np.ceil(np.sqrt(n)))
    rows = -(-n // columns)
    grid = np.zeros((rows * columns, height + 1, width + 1, channels), np.uint8)
    grid[:n, :-1, :-1] = tiles
    grid = grid.reshape(rows, columns, height + 1, width + 1, channels).swapaxes(1, 2)
    return grid.reshape(rows * (height + 1), columns * (width + 1), channels)[:-1, :-1]


def png(pixels: Any) -> bytes:
    """The PNG file (RFC 2083) of uint8 [height, width, channels]: rows without a filter."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
