"""Uniform numbers that the device computes itself: those that NumPy's stream would give.

    x = rng.random(n)      a launch, with the words of the state as numbers; the state jumps

The host holds the stream, as in its own programs, and leaves its state as n draws do: it need not
wait for the numbers. Which bit generator a Generator draws from is seen while the program runs. Of
one whose numbers come one after another, as MT19937's, the host draws them and copies them.

A generator that the program makes is six words on the device, and stays there: one thread computes
the state after the draw.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.cuda.draw_kernels import (
    CHEAP_MULTIPLIER,
    LCG_WORDS,
    MULTIPLIER,
    PHILOX_WORDS,
    WORK,
    advance_launch,
    lcg_launch,
    philox_launch,
)
from tracejit.codegen.cuda.launches import Launch
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.device.memory import DeviceMemory
from tracejit.codegen.device.results import dense_room, place
from tracejit.codegen.llvm.engine import host_target
from tracejit.codegen.program.random.distributions import fill_text
from tracejit.codegen.program.random.draw import Distribution, Draw, Parameter
from tracejit.codegen.support.bit_generators import (
    pcg64_functions,
    pcg64dxsm_functions,
    philox_functions,
)
from tracejit.ir.dims import prod
from tracejit.ir.graph import Node
from tracejit.ops.host.random import DRAW, DRAWN

__all__ = ["emit_device_draw"]

#: Numbers that a thread computes, where there are enough: the first one takes the longest.
_EACH = 16
#: Where a `bitgen_t` has the functions for 64 bits and for a double.
_NEXT, _DOUBLE = 8, 24
_UNIFORM = Distribution("random_uniform", (Parameter("low"), Parameter("range")))

#: The multiplier and the increment of k steps, by squaring.
_LEAP = """
define internal void @tj_lcg_leap(i128 %times, i128 %plus, i64 %k, ptr %out) {
entry:
  br label %head
head:
  %a = phi i128 [ 1, %entry ], [ %a.next, %body ]
  %b = phi i128 [ 0, %entry ], [ %b.next, %body ]
  %p = phi i128 [ %times, %entry ], [ %p.next, %body ]
  %q = phi i128 [ %plus, %entry ], [ %q.next, %body ]
  %left = phi i64 [ %k, %entry ], [ %left.next, %body ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %body
body:
  %odd = trunc i64 %left to i1
  %pa = mul i128 %p, %a
  %pb = mul i128 %p, %b
  %pbq = add i128 %pb, %q
  %a.next = select i1 %odd, i128 %pa, i128 %a
  %b.next = select i1 %odd, i128 %pbq, i128 %b
  %pq = mul i128 %p, %q
  %q.next = add i128 %pq, %q
  %p.next = mul i128 %p, %p
  %left.next = lshr i64 %left, 1
  br label %head
end:
  store i128 %a, ptr %out, align 8
  %out.plus = getelementptr i128, ptr %out, i64 1
  store i128 %b, ptr %out.plus, align 8
  ret void
}
"""
#: Writes `LCG_WORDS`, and leaves the state as n draws do. PCG64 gives what its state is after a
#: step, PCG64DXSM what it was before.
_LCG = f"""
define internal void @tj_lcg_draw(ptr %state, i1 %cheap, i64 %n, i64 %work, ptr %words) {{
  %numbers = load ptr, ptr %state
  %s = load i128, ptr %numbers, align 8
  %plus.at = getelementptr i128, ptr %numbers, i64 1
  %plus = load i128, ptr %plus.at, align 8
  %times = select i1 %cheap, i128 {CHEAP_MULTIPLIER}, i128 {MULTIPLIER}
  call void @tj_lcg_leap(i128 %times, i128 %plus, i64 %n, ptr %words)
  %a = load i128, ptr %words, align 8
  %b.at = getelementptr i128, ptr %words, i64 1
  %b = load i128, ptr %b.at, align 8
  %as = mul i128 %a, %s
  %after = add i128 %as, %b
  store i128 %after, ptr %numbers, align 8
  %ts = mul i128 %times, %s
  %step = add i128 %ts, %plus
  %first = select i1 %cheap, i128 %s, i128 %step
  store i128 %first, ptr %words, align 8
  store i128 %times, ptr %b.at, align 8
  %w2 = getelementptr i128, ptr %words, i64 2
  store i128 %plus, ptr %w2, align 8
  %w3 = getelementptr i128, ptr %words, i64 3
  call void @tj_lcg_leap(i128 %times, i128 %plus, i64 %work, ptr %w3)
  ret void
}}
"""
#: Writes `PHILOX_WORDS` and gives the position among the numbers that are left over. The state is
#: left as n draws do: where they reach into a later block, NumPy's own function makes that one.
_PHILOX = """
define internal i64 @tj_philox_draw(ptr %state, ptr %next, i64 %n, ptr %words) {
  %counter = load ptr, ptr %state
  %key.at = getelementptr ptr, ptr %state, i64 1
  %key = load ptr, ptr %key.at
  %place = getelementptr ptr, ptr %state, i64 2
  %left = getelementptr ptr, ptr %state, i64 3
  %c = load i256, ptr %counter, align 8
  store i256 %c, ptr %words, align 8
  %k = load i128, ptr %key, align 8
  %w4 = getelementptr i64, ptr %words, i64 4
  store i128 %k, ptr %w4, align 8
  %l = load i256, ptr %left, align 8
  %w6 = getelementptr i64, ptr %words, i64 6
  store i256 %l, ptr %w6, align 8
  %given = load i32, ptr %place
  %many = icmp ugt i32 %given, 4
  %p = select i1 %many, i32 4, i32 %given
  %position = zext i32 %p to i64
  %end = add i64 %position, %n
  %within = icmp ule i64 %end, 4
  br i1 %within, label %near, label %far
near:
  %end.place = trunc i64 %end to i32
  store i32 %end.place, ptr %place
  ret i64 %position
far:
  %before = sub i64 %end, 5
  %blocks = lshr i64 %before, 2
  %wide = zext i64 %blocks to i256
  %later = add i256 %c, %wide
  store i256 %later, ptr %counter, align 8
  store i32 4, ptr %place
  %number = call i64 %next(ptr %state)
  %taken = and i64 %before, 3
  %taken.after = add i64 %taken, 1
  %last.place = trunc i64 %taken.after to i32
  store i32 %last.place, ptr %place
  ret i64 %position
}
"""


def emit_device_draw(e: DeviceContext, node: Node, memory: DeviceMemory) -> bool:
    """The code of a draw by the device; False where the host makes all of it."""
    if node.attrs.get("function") not in (DRAW, DRAWN):
        return False
    draw = _DeviceDraw.of(e, node)
    if draw is None or draw.cls != "Generator" or draw.shape is None or draw.words in e.scattered:
        return False
    interval = draw.interval()
    if interval is None:
        return False
    out = draw.out
    e.pointer.require(out)
    place(e, out)
    draw.count = e.dim(prod(draw.shape))
    with dense_room(e, out, e.pointer[out]) as room:
        if draw.words is None:
            draw.from_stream(room, interval, memory)
        else:
            draw.from_words(room, interval)
    e.pointer.stores(out)
    return True


@dataclass
class _DeviceDraw(Draw):
    e: DeviceContext
    #: The register of how many numbers there are.
    count: str = ""

    def interval(self) -> tuple[str, str] | None:
        """The low end of the numbers, and their width; None for any but uniform ones."""
        if not self._returns("f64") or not self._declare(
            "random_uniform", "double", ["ptr", "double", "double"]
        ):
            return None
        if self.method == "uniform" and host_target().is_x86:
            # Elsewhere NumPy's compiler may have contracted the product and the sum.
            bound = self.bound(["low", "high", "size"])
            return None if bound is None else self._interval(bound)
        if self.method == "random":
            bound = self.bound(["size"])
            if bound is not None and self._sized(bound.get("size")):
                return "0.0", "1.0"
        return None

    def from_stream(self, room: str, interval: tuple[str, str], memory: DeviceMemory) -> None:
        """Numbers of a stream that lies on the host."""
        e, fb = self.e, self.e.fb
        with e.hosting():
            bits = self._bits()
        state = fb.emit(f"load ptr, ptr {bits}")
        function = fb.emit(f"load i64, ptr {self._at(bits, _DOUBLE)}")
        pcg64 = self._is(function, "PCG64", pcg64_functions())
        dxsm = self._is(function, "PCG64DXSM", pcg64dxsm_functions())
        philox = self._is(function, "Philox", philox_functions())
        lcg = fb.emit(f"or i1 {pcg64}, {dxsm}")

        def by_steps() -> Sequence[str]:
            self._lcg(state, dxsm, room, interval)
            return ()

        def by_blocks() -> Sequence[str]:
            self._philox(state, bits, room, interval)
            return ()

        def on_host() -> Sequence[str]:
            self._copied(bits, room, interval, memory)
            return ()

        fb.if_then(lcg, (), by_steps)
        fb.if_then(philox, (), by_blocks)
        known = fb.emit(f"or i1 {lcg}, {philox}")
        fb.if_then(fb.emit(f"xor i1 {known}, true"), (), on_host)

    def _is(self, function: str, cls: str, functions: Sequence[int] | None) -> str:
        """Whether a stream draws from a bit generator of this class."""
        if functions is None:
            return "false"
        name = f"tj_double_{cls}"
        self.e.module.add_global(name, "external global i8")
        self.e.symbols[name] = functions[_DOUBLE // 8 - 1]
        return self.e.fb.emit(f"icmp eq i64 {function}, ptrtoint (ptr @{name} to i64)")

    def _lcg(self, state: str, cheap: str, room: str, interval: tuple[str, str]) -> None:
        fb, count = self.e.fb, self.count
        self._helper("tj_lcg_leap", lambda: _LEAP)
        self._helper("tj_lcg_draw", lambda: _LCG)
        words = fb.alloca(f"[{len(LCG_WORDS)} x i64]", 8)
        work = self._work()
        given = f"ptr {state}, i1 {cheap}, i64 {count}, i64 {work}, ptr {words}"
        fb.line(f"call void @tj_lcg_draw({given})")
        flag = fb.emit(f"zext i1 {cheap} to i64")
        numbers = self._loaded(words, len(LCG_WORDS))
        self._launch(lcg_launch(self._name()), work, [room, count, work, flag, *numbers, *interval])

    def _philox(self, state: str, bits: str, room: str, interval: tuple[str, str]) -> None:
        fb, count = self.e.fb, self.count
        self._helper("tj_philox_draw", lambda: _PHILOX)
        words = fb.alloca(f"[{len(PHILOX_WORDS)} x i64]", 8)
        following = fb.emit(f"load ptr, ptr {self._at(bits, _NEXT)}")
        given = f"ptr {state}, ptr {following}, i64 {count}, ptr {words}"
        position = fb.emit(f"call i64 @tj_philox_draw({given})")
        end = fb.emit(f"add i64 {position}, {fb.integer('add', count, '3')}")
        blocks = fb.emit(f"lshr i64 {end}, 2")
        numbers = self._loaded(words, len(PHILOX_WORDS))
        given_all = [room, count, blocks, position, *numbers, *interval]
        self._launch(philox_launch(self._name()), blocks, given_all)

    def _copied(
        self, bits: str, room: str, interval: tuple[str, str], memory: DeviceMemory
    ) -> None:
        """Draw on the host, and copy."""
        size = self.e.fb.integer("mul", self.count, "8")
        name = f"tj_fill_{_UNIFORM.function}_ss"
        self._helper(name, lambda: fill_text(name, _UNIFORM, [False, False]))
        here = memory.host_block(size)
        low, width = interval
        given = f"ptr {bits}, ptr {here}, i64 {self.count}, double {low}, double {width}"
        self.e.fb.emit(f"call i1 @{name}({given})")
        self.e.to_device(room, here, size)

    def from_words(self, room: str, interval: tuple[str, str]) -> None:
        """Numbers of a generator that the program has made, whose words lie on the device."""
        e, count, work = self.e, self.count, self._work()
        assert self.words is not None
        after = self.node.outputs[0]
        e.pointer.require(after)
        place(e, after)
        words = e.allocate("", str(8 * len(LCG_WORDS)))
        with dense_room(e, after, e.pointer[after]) as there:
            given = [e.pointer[self.words], there, words, count, work]
            self._launch(advance_launch(self._name()), work, given)
        e.pointer.stores(after)
        given = [room, count, work, "0", words, *interval]
        self._launch(lcg_launch(self._name(), in_memory=True), work, given)
        e.release("", words)

    # Numbers of the host -------------------------------------------------------------------------

    def _work(self) -> str:
        """How many threads a draw by steps has work for."""
        fb, limits = self.e.fb, self.e.device.limits
        some = fb.emit(f"udiv i64 {fb.integer('add', self.count, str(_EACH - 1))}, {_EACH}")
        least = self.e.module.declare("llvm.umin.i64", "i64", ["i64", "i64"])
        return fb.emit(f"call i64 {least}(i64 {some}, i64 {limits.grid * limits.block})")

    def _at(self, pointer: str, offset: int) -> str:
        return self.e.fb.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def _loaded(self, words: str, count: int) -> list[str]:
        fb = self.e.fb
        return [fb.emit(f"load i64, ptr {self._at(words, 8 * k)}") for k in range(count)]

    def _name(self) -> str:
        return f"draw_{len(self.e.trips.launches)}"

    def _launch(self, launch: Launch, work: str, arguments: Sequence[str]) -> None:
        self.e.launch(launch, arguments, {WORK: work})
