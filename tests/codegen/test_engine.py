"""LLVM text to machine code: linking, errors, lifetimes and threads."""

import ctypes
import gc
import math
import subprocess
import sys
import threading
import weakref

import pytest

from tracejit.codegen.llvm.engine import (
    CompileError,
    assembly,
    compile_module,
    host_target,
    load_object,
    object_code,
    optimized_text,
)
from tracejit.link.finding import c_address

pytestmark = pytest.mark.llvm_anew

DOUBLE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
INT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)

PLUS = """
define i64 @plus(i64 %x) {{
  %y = add i64 %x, {0}
  ret i64 %y
}}
"""


def test_host_target_describes_this_machine() -> None:
    target = host_target()
    assert target is host_target()
    assert target.vector_bits in (128, 256, 512)
    assert target.cpu and target.triple
    assert target.has_fma == ("fma" in target.features) or not target.is_x86


def test_a_declared_function_is_found_in_libm() -> None:
    text = """
    declare double @cbrt(double)
    define double @root(double %x) {
      %y = call double @cbrt(double %x)
      ret double %y
    }
    """
    library = compile_module(text, {}, ["root"])
    assert DOUBLE(library.address("root"))(27.0) == math.cbrt(27.0)
    with pytest.raises(KeyError):
        library.address("cbrt")


def test_symbols_bind_functions_and_data_at_any_distance() -> None:
    value = ctypes.c_int64(40)
    add_two = INT(lambda x: x + 2)
    text = """
    @value = external global i64
    declare i64 @add_two(i64)
    define i64 @run() {
      %x = load i64, ptr @value
      %y = call i64 @add_two(i64 %x)
      ret i64 %y
    }
    """
    symbols = {
        "value": ctypes.addressof(value),
        "add_two": ctypes.cast(add_two, ctypes.c_void_p).value or 0,
    }
    library = compile_module(text, symbols, ["run"], keep=(value, add_two))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("run"))() == 42


def test_symbols_win_over_libm() -> None:
    text = """
    declare double @sin(double)
    define double @f(double %x) {
      %y = call double @sin(double %x)
      ret double %y
    }
    """
    library = compile_module(text, {"sin": c_address("cos")}, ["f"])
    assert DOUBLE(library.address("f"))(0.5) == math.cos(0.5)


def test_glue_and_module_call_each_other() -> None:
    text = """
    declare i64 @twice(i64)
    define i64 @outer(i64 %x) {
      %y = call i64 @twice(i64 %x)
      %z = call i64 @inner(i64 %y)
      ret i64 %z
    }
    define i64 @inner(i64 %x) {
      %y = add i64 %x, 1
      ret i64 %y
    }
    """
    glue = """
    declare i64 @inner(i64)
    define i64 @twice(i64 %x) {
      %y = call i64 @inner(i64 %x)
      %z = call i64 @inner(i64 %y)
      ret i64 %z
    }
    """
    library = compile_module(text, {}, ["outer", "twice"], glue=glue)
    assert INT(library.address("outer"))(10) == 13
    assert INT(library.address("twice"))(10) == 12


def test_object_code_links_again_in_another_process() -> None:
    code = object_code(PLUS.format(5))
    assert INT(load_object(code, {}, ["plus"]).address("plus"))(1) == 6
    script = f"""
import ctypes
from tracejit.codegen.llvm.engine import load_object
library = load_object({code!r}, {{}}, ["plus"])
print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("plus"))(37))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["42"]


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(CompileError, match="result type 'i64'"):
        compile_module("define i64 @f() { ret i32 0 }", {}, ["f"])
    missing = """
    declare void @no_such_function()
    define void @f() {
      call void @no_such_function()
      ret void
    }
    """
    with pytest.raises(CompileError, match="no_such_function"):
        compile_module(missing, {}, ["f"])
    with pytest.raises(CompileError, match="has no address"):
        compile_module(missing, {"no_such_function": 0}, ["f"])
    with pytest.raises(CompileError):
        compile_module(PLUS.format(1), {}, ["minus"])
    # The compiler survives all of them.
    assert INT(compile_module(PLUS.format(1), {}, ["plus"]).address("plus"))(1) == 2


def test_a_library_keeps_what_it_was_given_and_dies_with_its_last_reference() -> None:
    class Resource:
        pass

    resource = Resource()
    alive = weakref.ref(resource)
    library = compile_module(PLUS.format(1), {}, ["plus"], keep=resource)
    del resource
    gc.collect()
    assert alive() is not None
    del library
    gc.collect()
    assert alive() is None


def test_the_text_stages_read_back() -> None:
    text = "define i64 @f(i64 %x) {\nentry:\n  br label %next\nnext:\n  ret i64 %x\n}\n"
    assert "br label" not in optimized_text(text)
    listing = assembly(text)
    assert "f:" in listing and "ret" in listing and ".cfi" not in listing


def test_threads_compile_at_the_same_time() -> None:
    results: dict[int, int] = {}

    def work(k: int) -> None:
        for _ in range(5):
            library = compile_module(PLUS.format(k), {}, ["plus"])
            results[k] = INT(library.address("plus"))(100)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: 100 + k for k in range(6)}


def test_importing_the_engine_does_not_load_llvm() -> None:
    script = "import sys, tracejit.codegen.llvm.engine; print('llvmlite' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]
