"""The type of jitted functions: threads, lifetimes, and what is left where the fast path is off."""

import ctypes
import dataclasses
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.native_entries import F8, Jitted, Linked, M, N, adder, unary
from tracejit.codegen.llvm.engine import compile_module
from tracejit.frontend.capture.guards import Equal, Same
from tracejit.frontend.capture.paths import Positional
from tracejit.ir.types import DTYPES
from tracejit.link.cpython import reflect
from tracejit.link.cpython.own_attributes import is_pointer
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    OutArray,
    OutLeaf,
    OutObject,
    ScalarLeaf,
)
from tracejit.runtime.native.python_entry import PythonEntry

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())


def test_threads_share_one_entry_with_and_without_the_gil() -> None:
    function = Jitted(np.add)
    adder().publish(function)
    failures: list[Any] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for size in [3, 100, 29_999, 40_000, 200_000] * 8:
            x, y = generator.random(size), generator.random(size)
            if not np.array_equal(function(x, y), x + y):
                failures.append(size)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_entries_appear_while_other_threads_call() -> None:
    function = Jitted(lambda value: -value)
    entries = [unary(Equal(k), OutObject(-k)) for k in range(24)]
    done = threading.Event()
    failures: list[int] = []

    def work() -> None:
        while not done.is_set():
            failures.extend(k for k in range(24) if function(k) != -k)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for linked in entries:
        linked.publish(function)
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    function._slow = lambda value: "slow"
    assert [function(k) for k in range(25)] == [-k for k in range(24)] + ["slow"]


def test_the_program_runs_without_the_gil_when_it_works_long() -> None:
    """The program calls Python back: that deadlocks or crashes unless the GIL is free."""
    released: list[bool] = []
    owner = threading.get_ident()
    ready = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    def body(given: int, out: int) -> int:
        released.append(threading.get_ident() == owner)
        return 0

    callback = ready(body)
    text = """
    declare i32 @callback(ptr, ptr)
    define i32 @program(ptr %in, ptr %out) {
      %status = call i32 @callback(ptr %in, ptr %out)
      ret i32 %status
    }
    """
    for work in (N * 100_000, 100_000, 10):
        spec = EntrySpec(
            ((Positional(0), ArrayLeaf(F8, ("n",))),), 1, outputs=(OutObject(7),), work=work
        )
        glue, symbols = native.entry_ir(spec, "program", "entry")
        symbols["callback"] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        library = compile_module(text, symbols, native.entry_exports("entry"), glue=glue)
        assert native.flat_callable(library, "entry", spec)(np.zeros(3)) == 7
    assert released == [True] * 3


def test_the_type_behaves_like_a_function() -> None:
    function = Jitted(lambda *args, **kwargs: (args, kwargs), None)
    function.tag = 1
    assert function(1, x=2) == ((1,), {"x": 2}) and function.report() == "report"
    assert function.__dict__ == {"tag": 1} and Jitted.__doc__ == "A jitted function of the tests."
    assert isinstance(function, native.JitBase) and Jitted.__name__ == "Jitted"
    assert type(pickle.loads(pickle.dumps(Jitted(len)))) is Jitted

    class Owner:
        method = Jitted(lambda self, *args: (self, args))

    owner = Owner()
    bound = owner.method
    assert bound.__self__ is owner and bound(1) == owner.method(1) == (owner, (1,))
    assert Owner.method.__class__ is Jitted
    # Native entries see the instance as their first argument.
    unary(Same(owner), OutObject("native")).publish(Owner.method)
    assert owner.method() == bound() == Owner.method(owner) == "native"


def test_a_subclass_in_python_still_calls() -> None:
    class Child(Jitted):
        pass

    child = Child(len)
    assert child("abc") == 3 and child.report() == "report"
    linked = unary(ScalarLeaf("int"), OutObject("native"))
    linked.publish(child)
    assert child("abc") == 3
    # Where a subclass has no vectorcall of its own CPython calls the slow path: no wrong answer.
    child._slow = lambda value: "native"
    assert child(3) == "native"


def test_cycles_are_collected_with_their_code() -> None:
    def cyclic() -> tuple[weakref.ref[Any], weakref.ref[Any]]:
        function, linked = Jitted(np.add), adder()
        linked.publish(function)
        function.me = function
        function._slow = lambda *args: function
        return weakref.ref(function), weakref.ref(linked.library)

    dead = cyclic()
    gc.collect()
    assert [ref() for ref in dead] == [None, None]


def test_a_plain_class_takes_no_entries() -> None:
    class Plain(native.JitBase):
        pass

    plain = Plain(lambda *args: "slow")
    assert plain(1) == "slow"
    with pytest.raises(TypeError, match="takes no native entries"):
        unary(ScalarLeaf("int")).publish(plain)


def test_everything_but_speed_is_left_where_the_fast_path_is_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = EntrySpec(((Positional(0), ScalarLeaf("int")),), 1, outputs=(OutLeaf(0),))
    library = Linked(spec).library
    monkeypatch.setattr(native, "_environment", lambda: "a reason")
    assert not native.available() and native.why_not() == "a reason"

    @native.jit_type
    class Plain(native.JitBase):
        pass

    entry = PythonEntry(spec, library.address("program"))

    class Owner:
        method = Plain(lambda self, value: entry(value))

    assert Plain(entry)(3) == Owner().method(3) == 3
    assert Plain(entry)(3.0) is native.MISS
    with pytest.raises(RuntimeError, match="a reason"):
        native.entry_ir(spec, "program", "entry")


def test_a_surprising_layout_turns_the_fast_path_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native.why_not() == ""
    shifted = dataclasses.replace(reflect.reflect_layout([*DTYPES.values()]), array_data=24)
    with pytest.raises(reflect.LayoutError, match="an array reads"):
        reflect._check(shifted)
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(reflect.LayoutError, match="vax"):
        reflect.reflect_layout([*DTYPES.values()])


@pytest.mark.parametrize("address", [1 << 16, (1 << 47) - 8, 1 << 47, (1 << 48) - 8])
def test_addresses_of_48_bits_are_pointers(address: int) -> None:
    """As ARM64 has them."""
    assert is_pointer(address) and not is_pointer(address + 4)
    assert not is_pointer(address + (1 << 48)) and not is_pointer(address - (1 << 48))


def test_a_spec_is_checked_when_it_is_made() -> None:
    leaf = ArrayLeaf(F8, ("n",))
    with pytest.raises(ValueError, match="no leaf binds: m"):
        EntrySpec(((Positional(0), leaf),), 1, outputs=(OutArray(F8, (M,)),))
    with pytest.raises(ValueError, match="no argument 1"):
        EntrySpec(((Positional(1), leaf),), 1, outputs=(OutObject(None),))
    with pytest.raises(ValueError, match="no leaf 1"):
        EntrySpec(((Positional(0), leaf),), 1, outputs=(OutLeaf(1),))
    with pytest.raises(ValueError, match="exactly one output"):
        EntrySpec(((Positional(0), leaf),), 1)
    with pytest.raises(ValueError, match="layout A"):
        ArrayLeaf(F8, ("n",), "A")
