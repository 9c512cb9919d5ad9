"""Settings of a run, and what it reached, become the messages of TensorBoard's hparams plugin.

Numbers of fields are those of tensorboard/plugins/hparams/plugin_data.proto and api.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tracejit.monitor.events import metadata
from tracejit.monitor.wire import bytes_field, double_field, int_field

__all__ = ["hparam_values"]

_SUCCESS = 1
_STRING, _BOOL, _FLOAT64 = 1, 2, 3


def hparam_values(hparams: Mapping[str, Any], metrics: Iterable[str], now: float) -> list[bytes]:
    """Three values of a summary: the experiment, how a session began, and that it has ended.

    HParamsPluginData: version = 1, experiment = 2, session_start_info = 3, session_end_info = 4.
    Experiment: time_created_secs = 3, hparam_infos = 4 (name = 1, type = 4), metric_infos = 5
    (name = 1, of tag = 2). SessionStartInfo: hparams = 1, a map (key = 1, value = 2),
    start_time_secs = 5. SessionEndInfo: status = 1, end_time_secs = 2.
    """
    kinds = {name: _kind(value) for name, value in hparams.items()}
    infos = b"".join(
        bytes_field(4, bytes_field(1, name) + int_field(4, kind)) for name, kind in kinds.items()
    )
    named = b"".join(bytes_field(5, bytes_field(1, bytes_field(2, tag))) for tag in metrics)
    entries = b"".join(
        bytes_field(1, bytes_field(1, name) + bytes_field(2, _value(value, kinds[name])))
        for name, value in hparams.items()
    )
    parts = {
        "experiment": bytes_field(2, double_field(3, now) + infos + named),
        "session_start_info": bytes_field(3, entries + double_field(5, now)),
        "session_end_info": bytes_field(4, int_field(1, _SUCCESS) + double_field(2, now)),
    }
    return [
        bytes_field(1, f"_hparams_/{name}")
        + bytes_field(9, metadata("hparams", int_field(1, 0) + part))
        for name, part in parts.items()
    ]


def _kind(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        return _BOOL
    return _FLOAT64 if isinstance(value, (int, float, np.integer, np.floating)) else _STRING


def _value(value: Any, kind: int) -> bytes:
    """google.protobuf.Value: number_value = 2, string_value = 3, bool_value = 4."""
    if kind == _BOOL:
        return int_field(4, value)
    return double_field(2, value) if kind == _FLOAT64 else bytes_field(3, str(value))
