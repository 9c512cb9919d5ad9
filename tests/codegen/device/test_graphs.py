"""Loops as CUDA graphs with conditional nodes, on the simulated device; structures as in cuda.h."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity
from tracejit.codegen.cuda.compile import compile_cubin, compile_ptx
from tracejit.codegen.cuda.conditions import begin, branch, loop
from tracejit.codegen.cuda.simulator import simulator

X = np.array([1.5, 0.75, 1.1, 3.0, 0.3])


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The simulated device's, of which none is left at the end."""
    monkeypatch.setenv("TRACEJIT_CUDA_GRAPHS", "1")
    found = simulator().graphs
    yield found
    assert found.alive == 0


def newton(x: Any, most: int) -> Any:
    n = 0
    while np.max(np.abs(x * x - 2.0)) > 1e-9 and n < most:
        x = 0.5 * (x + 2.0 / x)
        n += 1
    return x, n


def with_a_break(x: Any) -> Any:
    y, last = x, -1
    for k in range(20):
        last = k
        y = y * 0.5
        if y.max() < 0.25:
            break
        y = y + 0.0625
    return y, last


def in_place(x: Any) -> Any:
    while x.max() > 0.1:
        x *= 0.5
        x[0] += 0.01
    return x.sum()


def exchanged(x: Any) -> Any:
    a, b, c = x * 1.0, x * 0.5, x + 1
    s, t = 0.0, 1.0
    while c.max() < 40:
        a, b, c = c, a, b + c
        s, t = t, s + t
    return a + 0, b + 0, c + 0, s, t


def branches(x: Any) -> Any:
    high = low = 0
    while x.max() > 1e-3:
        if x.sum() > 1.0:
            x = np.sqrt(x) * 0.4
            high += 1
        elif x[0] > 0.01:
            x = x * 0.25
        else:
            x = x * x
            low += 1
    return x, high, low


def nested(x: Any) -> Any:
    steps = 0
    while x.max() > 0.01:
        y = x
        while y.max() > 0.5:
            y = y * 0.75
            steps += 1
        x = x * y * 0.9
    return x, steps


def inside_a_loop_of_the_host(x: Any) -> Any:
    out = np.zeros(len(x))
    for k in range(len(x)):
        y = x + k
        while y.max() > 2:
            y = y * 0.5
        out[k] = y.sum()
    return out


def by_columns(x: Any) -> Any:
    while np.abs(x.sum(0)).max() > 1e-3:
        x = x * 0.5 - x.mean(0)
    return x


PROGRAMS = [newton, with_a_break, in_place, exchanged, branches, nested]


@pytest.mark.parametrize("f", [*PROGRAMS, inside_a_loop_of_the_host, by_columns])
def test_loops_of_the_device(f: Any, graphs: Any) -> None:
    args = (X, 30) if f is newton else (X[:, None] * np.ones(300),) if f is by_columns else (X,)
    before, also = graphs.launched, ((X, 2),) if f is newton else ()
    gc.collect()
    held = simulator().allocated
    jitted = tracejit.jit(f, device="cuda-sim")
    assert_parity(f, *args, jitted=jitted, also=also, parity="order", ulp=16)
    report = jitted.report()
    assert graphs.launched > before and not report.fallbacks
    assert "run by the device" in str(report)
    del jitted, report
    gc.collect()
    assert simulator().allocated == held


def test_only_where_it_is_asked_for() -> None:
    before = simulator().graphs.launched
    assert_parity(newton, X, 30, jitted=tracejit.jit(newton, device="cuda-sim"), ulp=16)
    assert simulator().graphs.launched == before


def test_a_failed_check_ends_a_loop(graphs: Any) -> None:
    """What would never end otherwise, as the number that it waits for is not computed any more."""

    def f(x: Any, k: Any) -> Any:
        n = 0
        while x.max() > 0.1:
            x = x[k] * 0.5
            k = k + 1
            n += 1
        return x, n

    jitted = tracejit.jit(f, device="cuda-sim")
    with pytest.raises(IndexError):
        jitted(X, np.arange(5))
    assert_parity(f, X, -np.arange(5) - 1, jitted=jitted, parity="order", ulp=16)


def test_what_is_no_graph_runs_as_before(graphs: Any) -> None:
    def f(x: Any) -> Any:
        while x.max() > 0.1:
            x = np.sort(x)[::-1] * 0.5
        return x

    before = graphs.launched
    assert_parity(f, X, jitted=tracejit.jit(f, device="cuda-sim"), parity="order")
    assert graphs.launched == before


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
@pytest.mark.parametrize("kernel", [begin(), branch(), loop(False), loop(True)])
def test_conditions_compile(kernel: Any, capability: tuple[int, int]) -> None:
    pytest.importorskip("numba.cuda", reason="PTX is made by numba-cuda")
    from tracejit.codegen.cuda.numba_target import numba_namespace

    space = numba_namespace()
    ptx = compile_ptx(kernel.source, kernel.name, kernel.signature, capability, space)
    assert "cudaGraphSetConditional" in ptx
    assert compile_cubin(ptx, capability)


def test_structures_are_those_of_the_driver() -> None:
    """The simulated device, which runs the programs above, reads what NVIDIA's bindings write."""
    driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings has the structures")
    device, graphs = simulator(), simulator().graphs
    source = "def twice(x):\n    x[0] = x[0] * 2\n"
    kernel = device.define(source, "twice", ("f64*",), {})
    x, y = device.alloc(8), device.alloc(8)
    device.to_device(x, np.array([3.0]))

    def call(name: str, *args: Any) -> int:
        out = ctypes.c_uint64()
        assert graphs.functions()[name][0](ctypes.addressof(out), *args) == 0
        return out.value

    graph = call("cuGraphCreate", 0)
    pointer = ctypes.c_uint64(x)
    given = (ctypes.c_uint64 * 1)(ctypes.addressof(pointer))
    node = driver.CUDA_KERNEL_NODE_PARAMS()
    node.func = driver.CUfunction(kernel)
    node.gridDimX = node.gridDimY = node.gridDimZ = 1
    node.blockDimX = node.blockDimY = node.blockDimZ = 1
    node.kernelParams = ctypes.addressof(given)
    first = call("cuGraphAddKernelNode_v2", graph, 0, 0, int(node.getPtr()))
    copy = driver.CUgraphNodeParams()
    copy.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMCPY
    inner = copy.memcpy
    inner.copyCtx = driver.CUcontext(1)
    area = inner.copyParams
    area.srcMemoryType = area.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    area.srcDevice, area.dstDevice = driver.CUdeviceptr(x), driver.CUdeviceptr(y)
    area.WidthInBytes, area.Height, area.Depth = 8, 1, 1
    inner.copyParams = area
    copy.memcpy = inner
    waits = (ctypes.c_uint64 * 1)(first)
    call("cuGraphAddNode_v2", graph, ctypes.addressof(waits), 0, 1, int(copy.getPtr()))
    handle = call("cuGraphConditionalHandleCreate", graph, 1, 0, 0)
    choice = driver.CUgraphNodeParams()
    choice.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
    part = choice.conditional
    part.handle = driver.CUgraphConditionalHandle(handle)
    part.type = driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_IF
    part.size, part.ctx = 1, driver.CUcontext(1)
    choice.conditional = part
    call("cuGraphAddNode_v2", graph, 0, 0, 0, int(choice.getPtr()))
    graphs.set_condition(handle, False)
    ready = call("cuGraphInstantiateWithFlags", graph, 0)
    for _ in range(2):
        assert graphs.functions()["cuGraphLaunch"][0](ready, 0) == 0
    assert device.to_host(y, 8).view(np.float64).tolist() == [12.0]
    for name, what in (("cuGraphExecDestroy", ready), ("cuGraphDestroy", graph)):
        graphs.functions()[name][0](what)
    device.free(x)
    device.free(y)
    assert graphs.alive == 0
