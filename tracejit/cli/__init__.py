"""The command line: `tracejit COMMAND ...`, also `python -m tracejit`.

Exit codes: 0, 1 for a failure, 2 for wrong usage. Errors go to stderr in one or a few lines; a
traceback is a defect. Only the command that runs imports what it needs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tracejit.cli.errors import Failure, Usage
from tracejit.config import DEVICES

__all__ = ["main"]

_SHOW = """\
examples:
  tracejit show pkg.mod:f --args "f64[1000], f64[1000]"
  tracejit show path/to/file.py:f --args "f32[4, 5] @ (1, 0,), 3, True" --stage llvm
  tracejit show pkg.mod:g --args "float, float, float" --stage dataflow
  tracejit show pkg.mod:loss --args "f64[8], f64[3, 8]" --stage trace --grad 0
  tracejit show pkg.mod:f --args "f32[1000], f32[1000]" --device cuda --stage ptx

An argument is a type (f64[10, 3], f32, float, int) or a Python literal. Arrays of a type are filled
with random numbers; `@ (1, 0,)` lists the axes from the outermost in memory.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["demo"]:
            from tracejit.demo import main as demo

            return demo(arguments[1:])
        options = _parser().parse_args(arguments)
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse, after its own message
        return stop.code if isinstance(stop.code, int) else 2
    except Usage as error:
        print(f"tracejit: {error}", file=sys.stderr)
        return 2
    except Failure as error:
        print(f"tracejit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tracejit: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, has had enough; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tracejit", description="Look at what the compiler makes of NumPy functions."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, summary: str, **more: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **more,  # type: ignore[arg-type]
        )
        command.set_defaults(run=lambda options: _run(name, options))
        return command

    show = add("show", "a function at any stage of its compile", epilog=_SHOW)
    show.add_argument("target", metavar="MODULE:FUNCTION", help="or path/to/file.py:function")
    show.add_argument("--args", default="", help="types or values of the arguments")
    show.add_argument(
        "--stage",
        default="fuse",
        help="trace, a pass, dataflow, kernel, llvm, asm or all (default: fuse); of a device also "
        "cuda, ptx and, where CUDA's tools are there, sass",
    )
    show.add_argument(
        "--device", choices=DEVICES, help="what would run there (default: cpu, or TRACEJIT_DEVICE)"
    )

    show.add_argument(
        "--grad",
        nargs="?",
        const="",
        metavar="ARGNUMS",
        help="the value and gradient instead, by these arguments (default: all floats)",
    )

    opt = add("opt", "a graph's text after some passes")
    opt.add_argument("file", metavar="FILE.graph", help="- is stdin")
    opt.add_argument("-p", "--passes", help="names with commas between (default: all, in order)")
    opt.add_argument("--each", action="store_true", help="show what each pass changed")

    lower = add("lower", "a graph's text as kernels or LLVM text")
    lower.add_argument("file", metavar="FILE.graph", help="- is stdin")
    lower.add_argument("--backend", choices=("llvm", "reference"), default="llvm")

    run = add("run", "run a graph's text")
    run.add_argument("file", metavar="FILE.graph", help="- is stdin")
    source = run.add_mutually_exclusive_group(required=True)
    source.add_argument("--random", action="store_true", help="on random inputs")
    source.add_argument("--inputs", metavar="F.npz", help="on arrays by the inputs' names")
    run.add_argument("--sizes", default="", help='sizes for --random, such as "n=8, m=3"')
    run.add_argument("--seed", type=int, default=0, help="for --random")
    how = run.add_mutually_exclusive_group()
    how.add_argument("--backend", choices=("llvm", "numpy"), default="llvm")
    how.add_argument(
        "--compare", action="store_true", help="run both backends; exit 1 where they disagree"
    )
    how.add_argument(
        "--each", action="store_true", help="run it after each pass; exit 1 at the first difference"
    )

    diff = add("diff", "what each stage of a dump changed")
    diff.add_argument("folder", metavar="DUMPDIR", help="TRACEJIT_DUMP, or one folder in it")

    ops = add("ops", "the ops, and what each supports")
    ops.add_argument("names", metavar="NAME", nargs="*", help="only these, with their meaning")

    add("doctor", "versions, machine, libraries, and whether compiling works")

    explain = add("explain", "what an error code means")
    explain.add_argument("codes", metavar="TJ0xx", nargs="*", help="all of them if none is given")

    add("demo", "real programs on real data, timed against NumPy (see tracejit demo --help)")
    return parser


def _run(name: str, options: argparse.Namespace) -> int:
    if name == "show":
        from tracejit.cli.show import show

        return show(options.target, options.args, options.stage, options.grad, options.device)
    if name in ("opt", "lower", "run", "diff"):
        from tracejit.cli import graphs

        match name:
            case "opt":
                return graphs.opt(options.file, options.passes, options.each)
            case "lower":
                return graphs.lower(options.file, options.backend)
            case "diff":
                return graphs.diff(options.folder)
        return graphs.run(
            options.file,
            inputs=options.inputs,
            sizes=options.sizes,
            seed=options.seed,
            backend=options.backend,
            compare=options.compare,
            each=options.each,
        )
    from tracejit.cli import about

    match name:
        case "ops":
            return about.ops(options.names)
        case "explain":
            return about.explain(options.codes)
    return about.doctor()
