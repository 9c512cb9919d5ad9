"""`EntrySpec` -> LLVM text of a native entry, a function that CPython calls through vectorcall.

    ptr entry(ptr callable, ptr args, i64 nargsf, ptr kwnames)

It checks the arguments, allocates the outputs, runs the program and returns the result. If a check
fails it tail-calls the next entry (its own `.next` cell) with the same arguments, or the callable's
`_slow` after the last one. If the program refuses, or sizes do not fit, `_bail` is called instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tracejit.codegen.analysis.buffer_plan import copies_word
from tracejit.frontend.capture.guards import CURSOR, Keys
from tracejit.ir.dims import Poly
from tracejit.link.cpython.reflect import Layout
from tracejit.ops.host.exchange import forget_run
from tracejit.runtime.call.entry_spec import (
    EntrySpec,
    OutArray,
    OutMade,
    OutView,
    SizeGuard,
)
from tracejit.runtime.entries.answers import hear_of_copies
from tracejit.runtime.entries.chain import next_cell
from tracejit.runtime.entries.jit_type import BAIL_OFFSET, SLOW_OFFSET
from tracejit.runtime.native.guards import GuardEmitter
from tracejit.runtime.native.made import ResultEmitter, Surroundings
from tracejit.runtime.native.no_alias import RANGES, range_count
from tracejit.runtime.native.result_memory import array_functions
from tracejit.runtime.native.text import FunctionText, SizeEmitter

__all__ = ["GIL_WORK", "write_entry"]

#: Element operations from which a program runs without the GIL: releasing and taking it costs
#: about 70 ns, and as much again when another thread wants it.
GIL_WORK = 30_000

_WORD = 8
_NARGS_MASK = 2**63 - 1  # Bit 63 of nargsf only says that args[-1] may be written.
_RELATIONS = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle"}


def write_entry(
    spec: EntrySpec,
    program: str,
    entry_name: str,
    layout: Layout,
    functions: Mapping[str, int],
) -> tuple[str, dict[str, int]]:
    """The LLVM text of an entry for `program`, and the addresses to link it with.

    The text is a module of its own: it defines `entry_name` and `next_cell(entry_name)` and
    declares `program`, which another module of the same library defines with external linkage.
    """
    known = {**functions, **array_functions(functions, layout)}
    return _Writer(spec, program, entry_name, layout, known).write()


class _Writer:
    def __init__(
        self,
        spec: EntrySpec,
        program: str,
        entry_name: str,
        layout: Layout,
        functions: Mapping[str, int],
    ) -> None:
        self.spec = spec
        self.program = program
        self.layout = layout
        self.text = FunctionText(entry_name, functions)
        self.guards = GuardEmitter(self.text, spec, layout, miss="miss")
        self.result = ResultEmitter(self.text, spec, layout)
        #: By outputs that are new arrays: axes, and registers of the strides noted for them.
        self._noted: dict[int, list[tuple[int, str]]] = {}
        #: By what comes next and the object that is given up before: the block that does so.
        self._drops: dict[tuple[str, str], str] = {}
        #: The objects in the order in which they were first owned.
        self._since: dict[str, int] = {}
        #: For each kind of block: what was owned when it was asked for last, and its label.
        self._chains: dict[tuple[str, bool], tuple[tuple[int, int] | None, int, str]] = {}

    def write(self) -> tuple[str, dict[str, int]]:
        text = self.text
        self._open()
        self._shape_of_call()
        self.guards.emit("%in")
        sizes = SizeEmitter(text, self.guards.sizes)
        self._size_guards(sizes)
        shapes = self._shapes(sizes)
        self._allocate(shapes)
        self._run(sizes)
        guards = self.guards
        around = Surroundings(
            guards.sizes,
            guards.objects,
            guards.owned,
            outside=lambda: self._drop_and("bail"),
            fail=lambda: self._drop_and("fail", False),
        )
        self.result.emit(around)
        self._close()
        name = text.name
        head = [*text.declarations(), f'@"{next_cell(name)}" = dso_local global ptr null']
        head.append(f'declare i32 @"{self.program}"(ptr, ptr)')
        if self.spec.tells_copies:
            head.append(f'@"{copies_word(self.program)}" = external global [2 x i64]')
        head.append(
            f'define ptr @"{name}"(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) nounwind {{'
        )
        return "\n".join([*head, *text.lines, "}", ""]), text.symbols

    def _open(self) -> None:
        text, spec = self.text, self.spec
        text.label("entry")
        text.do(f"%in = alloca [{max(spec.in_count, 1)} x i64]")
        text.do(f"%out = alloca [{max(spec.out_count, 1)} x i64]")
        if any(isinstance(leaf, Keys) for _, leaf in spec.leaves):
            text.do(f"{CURSOR} = alloca [3 x i64]")
        ranges = range_count([leaf for _, leaf in spec.leaves])
        if ranges:
            text.do(f"{RANGES} = alloca [{2 * ranges} x i64]")
        if spec.tells_copies:
            text.do("%told = alloca [3 x ptr]")
        axes = [len(o.shape) for o in spec.outputs if isinstance(o, (OutArray, OutView))]
        if axes:
            text.do(f"%shape = alloca [{max(*axes, 1)} x i64]")
            text.do(f"%strides = alloca [{max(*axes, 1)} x i64]")

    def _shape_of_call(self) -> None:
        text, keywords = self.text, self.spec.keywords
        nargs = text.op(f"and i64 %nargsf, {_NARGS_MASK}")
        right_nargs = text.op(f"icmp eq i64 {nargs}, {self.spec.nargs}")
        named = text.op(f"icmp {'ne' if keywords else 'eq'} ptr %kwnames, null")
        text.require(text.op(f"and i1 {right_nargs}, {named}"), "miss")
        if not keywords:
            return
        count = text.field("%kwnames", self.layout.tuple_size, "i64")
        text.require(text.op(f"icmp eq i64 {count}, {len(keywords)}"), "miss")
        for k, keyword in enumerate(keywords):
            name = text.field("%kwnames", self.layout.tuple_items + _WORD * k, "ptr")
            text.require(text.op(f"icmp eq ptr {name}, {text.object(keyword)}"), "miss")

    def _size_guards(self, sizes: SizeEmitter) -> None:
        for guard in self.spec.guards:
            holds = self._compare(sizes, guard)
            sizes.require_exact(self._drop_and("miss"))
            self.text.require(holds, self._drop_and("miss"))

    def _compare(self, sizes: SizeEmitter, guard: SizeGuard) -> str:
        left, right = sizes.emit(guard.left), sizes.emit(guard.right)
        return self.text.op(f"icmp {_RELATIONS[guard.relation]} i64 {left}, {right}")

    def _shapes(self, sizes: SizeEmitter) -> dict[int, list[str]]:
        """Sizes of every new array, and of views; one that is negative or does not fit leaves for
        `_bail`."""
        shapes: dict[int, list[str]] = {}
        for k, output in enumerate(self.spec.outputs):
            if isinstance(output, OutArray):
                shapes[k] = sizes.emit_shape(output.shape)
            if isinstance(output, (OutArray, OutMade)):
                self._noted[k] = [(axis, sizes.emit(stride)) for axis, stride in output.noted]
        self.result.place_early(sizes)
        sizes.require_exact(self._drop_and("bail"))
        return shapes

    def _note_strides(self, k: int) -> None:
        if self._noted[k]:
            from tracejit.runtime.native.strides import note_strides

            note_strides(self.text, self.layout, str(self.result.made[k]), self._noted[k])

    def _allocate(self, shapes: Mapping[int, Sequence[str]]) -> None:
        for k, output in enumerate(self.spec.outputs):
            array = self._new_array(k, output, shapes[k]) if isinstance(output, OutArray) else None
            self.result.made.append(array)
            if array is not None:
                self._note_strides(k)

    def _new_array(self, k: int, output: OutArray, shape: Sequence[str]) -> str:
        text = self.text
        ndim = len(shape)
        for axis, size in enumerate(shape):
            text.do(f"store i64 {size}, ptr {text.at('%shape', _WORD * axis)}")
        strides, fortran = "null", 0
        if ndim > 1 and output.order == tuple(reversed(range(ndim))):
            fortran = 1
        elif output.order != tuple(range(ndim)):
            assert not output.zeroed
            strides = self._store_strides(output, shape)
        descr = text.object(output.dtype)
        text.call("Py_IncRef", f"ptr {descr}")  # The new array takes this reference.
        new: list[str]
        if output.zeroed:
            name, new = "PyArray_Zeros", [f"i32 {ndim}", "ptr %shape", f"ptr {descr}"]
            new.append(f"i32 {fortran}")
        else:
            name, new = "tj_new_array", [f"ptr {text.object(np.ndarray)}", f"ptr {descr}"]
            new += [f"i32 {ndim}", "ptr %shape", f"ptr {strides}", "ptr null", f"i32 {fortran}"]
            new.append("ptr null")
        array = text.call(name, *new)
        text.require(text.op(f"icmp ne ptr {array}, null"), self._drop_and("refused"))
        data = text.field(array, self.layout.array_data, "ptr")
        text.do(f"store ptr {data}, ptr {text.at('%out', _WORD * self.spec.out_slots[k])}")
        return array

    def _store_strides(self, output: OutArray, shape: Sequence[str]) -> str:
        """Byte strides of a dense array. NumPy refuses a shape whose byte count does not fit, and
        does so before it reads the strides, so that plain multiplications do."""
        text = self.text
        step = str(output.dtype.itemsize)
        for axis in reversed(output.order):
            text.do(f"store i64 {step}, ptr {text.at('%strides', _WORD * axis)}")
            empty = text.op(f"icmp eq i64 {shape[axis]}, 0")
            factor = text.op(f"select i1 {empty}, i64 1, i64 {shape[axis]}")
            step = text.op(f"mul i64 {step}, {factor}")
        return "%strides"

    def _run(self, sizes: SizeEmitter) -> None:
        text = self.text
        call = f'call i32 @"{self.program}"(ptr %in, ptr %out)'
        state: str | None = None
        late = [k for k, o in enumerate(self.spec.outputs) if isinstance(o, OutMade)]
        for k in late:
            text.do(f"store ptr null, ptr {text.at('%out', _WORD * self.spec.out_slots[k])}")
        work = self.spec.work
        if self.spec.exchanges:
            self._forget_run()
        if isinstance(work, Poly):
            # The value may wrap: it decides about the GIL, not about the result.
            amount = sizes.emit(work)
            sizes.faults.clear()
            state = self._maybe_release(text.op(f"icmp ugt i64 {amount}, {GIL_WORK}"))
        elif work > GIL_WORK:
            state = text.call("PyEval_SaveThread")
        status = text.op(call)
        if isinstance(work, Poly):
            retake, go_on = text.fresh("retake"), text.fresh("go")
            released = text.op(f"icmp ne ptr {state}, null")
            text.do(f"br i1 {released}, label %{retake}, label %{go_on}")
            text.label(retake)
            text.call("PyEval_RestoreThread", f"ptr {state}")
            text.do(f"br label %{go_on}")
            text.label(go_on)
        elif state is not None:
            text.call("PyEval_RestoreThread", f"ptr {state}")
        for k in late:
            # Null where the program has refused: Py_DecRef takes that.
            self.result.made[k] = text.field("%out", _WORD * self.spec.out_slots[k], "ptr")
        text.require(text.op(f"icmp eq i32 {status}, 0"), self._drop_and("bail"))
        for k in late:
            self._note_strides(k)
        if self.spec.exchanges:
            self._forget_run()
        if self.spec.tells_copies:
            self._tell_copies()

    def _forget_run(self) -> None:
        """Clear the log of the exchanges of this thread."""
        text = self.text
        found = text.call("PyObject_CallNoArgs", f"ptr {text.object(forget_run)}")
        # Only a signal makes it raise, as it could have come after the call.
        text.require(text.op(f"icmp ne ptr {found}, null"), self._drop_and("fail"))
        text.call("Py_DecRef", f"ptr {found}")

    def _tell_copies(self) -> None:
        """Tell of a run whose loops copied much."""
        text, word = self.text, f'@"{copies_word(self.program)}"'
        copied = text.op(f"load i64, ptr {word}")
        tell, go_on = text.fresh("tell"), text.fresh("go")
        text.do(f"br i1 {text.op(f'icmp eq i64 {copied}, 0')}, label %{go_on}, label %{tell}")
        text.label(tell)
        plain = text.field(word, _WORD, "i64")
        for k, number in enumerate((copied, plain), 1):
            made = text.call("PyLong_FromLongLong", f"i64 {number}")
            text.do(f"store ptr {made}, ptr {text.at('%told', _WORD * k)}")
        text.do("store ptr %callable, ptr %told")
        hear = f"ptr {text.object(hear_of_copies)}"
        heard = text.call("PyObject_Vectorcall", hear, "ptr %told", "i64 3", "ptr null")
        for k in (1, 2):
            text.call("Py_DecRef", f"ptr {text.field('%told', _WORD * k, 'ptr')}")
        # Only a signal makes it raise, as it could have come after the call.
        text.require(text.op(f"icmp ne ptr {heard}, null"), self._drop_and("fail"))
        text.call("Py_DecRef", f"ptr {heard}")
        text.do(f"br label %{go_on}")
        text.label(go_on)

    def _maybe_release(self, large: str) -> str:
        text = self.text
        before, release, run = text.fresh("before"), text.fresh("release"), text.fresh("run")
        text.do(f"br label %{before}")
        text.label(before)
        text.do(f"br i1 {large}, label %{release}, label %{run}")
        text.label(release)
        state = text.call("PyEval_SaveThread")
        text.do(f"br label %{run}")
        text.label(run)
        return text.op(f"phi ptr [ null, %{before} ], [ {state}, %{release} ]")

    def _drop_and(self, target: str, inputs: bool = True) -> str:
        """A block that gives up everything owned so far and goes to `target`.

        What was made last is given up first, in a block of its own: these blocks are shared.
        """
        made, held = self.result.made, len(self.guards.owned) if inputs else 0
        state = made.epoch, held
        known, count, label = self._chains.get((target, inputs), (None, 0, target))
        if known == state:
            late = made.added[count:]
        else:
            owned = {obj for obj in made if obj is not None}
            if inputs:
                owned.update(self.guards.owned)
            new = sorted(owned - self._since.keys())
            self._since.update((obj, len(self._since)) for obj in new)
            late, label = sorted(owned, key=self._since.__getitem__), target
        for obj in late:
            self._since.setdefault(obj, len(self._since))
            link = label, obj
            if link not in self._drops:
                self._drops[link] = self.text.fresh("drop")
            label = self._drops[link]
        self._chains[target, inputs] = state, len(made.added), label
        return label

    def _close(self) -> None:
        text = self.text
        self.guards.emit_late_blocks()
        for (target, obj), label in self._drops.items():
            text.label(label)
            text.call("Py_DecRef", f"ptr {obj}")
            text.do(f"br label %{target}")
        text.label("refused")
        # NumPy's error for the new array comes again from the user's own line.
        text.call("PyErr_Clear")
        text.do("br label %bail")
        text.label("fail")
        text.do("ret ptr null")
        text.label("miss")
        # One store publishes an entry: whoever sees its address sees its code.
        following = text.op(f'load atomic ptr, ptr @"{next_cell(text.name)}" acquire, align 8')
        is_last = text.op(f"icmp eq ptr {following}, null")
        text.do(f"br i1 {is_last}, label %slow, label %next")
        text.label("next")
        result = text.op(
            f"musttail call ptr {following}(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames)"
        )
        text.do(f"ret ptr {result}")
        text.hand_over({"slow": SLOW_OFFSET, "bail": BAIL_OFFSET})
