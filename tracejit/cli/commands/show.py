"""`tracejit show`: a function at any stage of its compile."""

from __future__ import annotations

import argparse
from typing import Any

from tracejit.api import jit
from tracejit.cli.calls import Call, add_call, read_call
from tracejit.cli.errors import Failure, unknown
from tracejit.cli.gradients import add_grad, with_gradient
from tracejit.cli.output import add_json, print_json
from tracejit.config import DEVICES
from tracejit.errors import DeviceError, GraphError, TraceError

__all__ = ["add", "run"]

_EXAMPLES = """\
examples:
  tracejit show pkg.mod:f --args "f64[1000], f64[1000]"
  tracejit show path/to/file.py:f --args "f32[4, 5] @ (1, 0,), 3, True" --stage llvm
  tracejit show pkg.mod:g --args "float, float, float" --stage dataflow
  tracejit show pkg.mod:loss --args "f64[8], f64[3, 8]" --stage trace --grad 0
  tracejit show pkg.mod:f --args "f32[1000], f32[1000]" --device cuda --stage ptx
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = _EXAMPLES
    add_call(parser)
    add_json(parser)
    parser.add_argument(
        "--stage",
        default="fuse",
        help="trace, a pass, dataflow, kernel, llvm, asm or all (default: fuse); of a device also "
        "cuda, ptx and, where CUDA's tools are there, sass",
    )
    parser.add_argument(
        "--device", choices=DEVICES, help="what would run there (default: cpu, or TRACEJIT_DEVICE)"
    )
    add_grad(parser)


def run(options: argparse.Namespace) -> int:
    """Print a stage of a function for example arguments.

    With `grad` it is that of its value and gradient, by the arguments of these numbers, or for ""
    by all that are floats. For a `device` it is what would run there, without one, too.
    """
    call, stage = read_call(options), options.stage
    function = call.function
    if options.grad is not None:
        function = with_gradient(function, options.grad, call.args)
    lowered = _lower(function, call, options.device)
    if stage != "all" and stage not in lowered.stages:
        raise unknown("stage", stage, [*lowered.stages, "all"])
    names = lowered.stages if stage == "all" else [stage]
    if options.json:
        print_json({name: _text(lowered, name) for name in names})
        return 0
    for name in names:
        if stage == "all":
            print(f"# {name}")
        print(_text(lowered, name).rstrip("\n"))
    return 0


def _lower(function: Any, call: Call, device: str | None) -> Any:
    with call.telling():
        compiled = function if hasattr(function, "lower") else jit(function)
        compiled = compiled if device is None else jit(compiled, device=device)
        return compiled.lower(*call.args, **call.kwargs)


def _text(lowered: Any, stage: str) -> str:
    try:
        text: str = lowered.text(stage)
        return text
    except GraphError as error:
        raise Failure(f"the compiler failed: {error}") from None
    except (DeviceError, TraceError) as error:
        raise Failure(str(error)) from None
