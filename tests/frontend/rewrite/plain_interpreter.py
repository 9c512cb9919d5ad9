"""Interpreter that do what Python does, and hold each compound statement to what it declares.

A block may change no variable but the statement's `names`, each of which is free in one of its
blocks. A variable that is not live, by `info`, is unbound as soon as the statement allows it: a
program that reads it after all fails with a NameError that plain Python does not raise.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from typing import Any

from tracejit.frontend.rewrite.function import HOOK_NAME, rewrite_code
from tracejit.frontend.rewrite.source import find_definition

Block = Callable[..., Any]
Cells = dict[str, CellType]
_UNBOUND = object()


def rewritten(f: Any) -> FunctionType:
    """`f` over plain Python."""
    code = rewrite_code(find_definition(f), f.__code__)
    assert code.co_freevars == (HOOK_NAME,)
    new = FunctionType(
        code, f.__globals__, f.__name__, f.__defaults__, (CellType(PlainInterpreter(f)),)
    )
    new.__kwdefaults__ = f.__kwdefaults__
    return new


def cells_of(*blocks: Block | None) -> Cells:
    """The variables that functions share with the scopes around them."""
    found: Cells = {}
    for f in blocks:
        if f is not None:
            closure = f.__closure__ or ()
            found.update(zip(f.__code__.co_freevars, closure, strict=True))
    found.pop(HOOK_NAME, None)
    return found


def contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _UNBOUND


class Returned:
    """The outcome of a block that returns."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Compound:
    """One execution of a compound statement."""

    def __init__(self, names: tuple[str, ...], info: Any, *blocks: Block | None) -> None:
        line, self.live_after, self.live_head = info
        assert isinstance(line, int) and names == tuple(sorted(names))
        cells = cells_of(*blocks)
        assert not set(names) - set(cells), "a name that no block shares"
        self.own = {name: cells[name] for name in names}
        self.others = [cell for name, cell in cells.items() if name not in self.own]

    def run(self, block: Block | None, *args: Any) -> Any:
        if block is None:
            return None
        before = list(map(contents, self.others))
        outcome = block(*args)
        assert all(a is contents(c) for a, c in zip(before, self.others, strict=True))
        return outcome

    def next_iteration(self) -> None:
        self.forget(self.live_head)

    def left(self, outcome: Any, rest: Block | None) -> Any:
        self.forget(self.live_after)
        if outcome is not None:
            return outcome
        return None if rest is None else rest()

    def forget(self, live: tuple[str, ...]) -> None:
        for name, cell in self.own.items():
            if name not in live and contents(cell) is not _UNBOUND:
                del cell.cell_contents


class PlainInterpreter:
    """The hooks of one function."""

    BREAK, CONTINUE, returned = "break", "continue", Returned
    unary = staticmethod(lambda op, x: getattr(operator, op)(x))
    binary = staticmethod(lambda op, a, b: getattr(operator, op)(a, b))
    in_place = binary
    attribute = staticmethod(getattr)
    item = staticmethod(operator.getitem)
    slice = slice
    iterate = iterate_keys = staticmethod(iter)
    delete_item = staticmethod(operator.delitem)
    delete_attribute = staticmethod(delattr)
    call = staticmethod(lambda f, *args, **kwargs: f(*args, **kwargs))
    allocate = key = mapping = truth = staticmethod(lambda x: x)
    unpack = staticmethod(lambda x, wanted: x)

    def __init__(self, f: FunctionType) -> None:
        self.f = f
        self.cells = cells_of(f)

    def local(self, x: Any) -> Any:
        return x

    def free(self, name: str) -> Any:
        return self.cells[name].cell_contents

    def global_(self, name: str) -> Any:
        builtins: Any = self.f.__builtins__  # type: ignore[attr-defined]
        found = self.f.__globals__.get(name, builtins.get(name, _UNBOUND))
        if found is _UNBOUND:
            raise NameError(f"name {name!r} is not defined")
        return found

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if op in ("contains", "lacks"):
            return (a in b) is (op == "contains")
        return getattr(operator, op)(a, b)

    def compare_chain(self, op: str, a: Any, b: Any, *later: Any) -> Any:
        result = self.compare(op, a, b)
        for next_op, operand in zip(later[::2], later[1::2], strict=True):
            if not result:
                return result
            a, b = b, operand()
            result = self.compare(next_op, a, b)
        return result

    def iterate_unpacked(self, items: Any, pattern: Any) -> Iterator[Any]:
        return iter(items)

    def over_items(
        self, f: Any, items: Any, pattern: Any, value: Any, tests: Any, *args: Any, **kwargs: Any
    ) -> Any:
        def names(item: Any, pattern: Any) -> list[Any]:
            if pattern is None:
                return [item]
            return [v for x, p in zip(item, pattern, strict=True) for v in names(x, p)]

        given = (names(item, pattern) for item in iter(items))
        made = (value(*v) for v in given if all(test(*v) for test in tests))
        return f(made, *args, **kwargs)

    def comprehended(
        self, items: Any, pattern: Any, value: Any, tests: Any, nested: bool
    ) -> list[Any]:
        made = self.over_items(list, items, pattern, value, tests)
        return [v for parts in made for v in self.comprehended(*parts)] if nested else made

    def joined(self, *parts: Any) -> str:
        return "".join(parts)

    def formatted(self, x: Any, conversion: str = "", spec: str = "") -> str:
        converted = {"": x, "r": repr(x), "s": str(x)}[conversion]
        return format(converted, spec)

    def store_attribute(self, value: Any, x: Any, name: str) -> None:
        setattr(x, name, value)

    def store_item(self, value: Any, x: Any, key: Any) -> None:
        x[key] = value

    # Control flow --------------------------------------------------------------------------------

    def function_result(self, outcome: Any) -> Any:
        assert outcome is None or isinstance(outcome, Returned)
        return outcome and outcome.value

    def if_(
        self,
        test: Any,
        then: Block,
        orelse: Block | None,
        rest: Block | None,
        names: Any,
        info: Any,
    ) -> Any:
        statement = _Compound(names, info, then, orelse)
        assert statement.live_head == ()
        return statement.left(statement.run(then if test else orelse), rest)

    def while_(
        self,
        test: Block,
        body: Block,
        orelse: Block | None,
        rest: Block | None,
        names: Any,
        info: Any,
    ) -> Any:
        statement = _Compound(names, info, test, body, orelse)
        statement.next_iteration()
        while statement.run(test):
            outcome = statement.run(body)
            if isinstance(outcome, Returned):
                return outcome
            if outcome == self.BREAK:
                return statement.left(None, rest)
            statement.next_iteration()
        return statement.left(statement.run(orelse), rest)

    def for_(
        self,
        items: Any,
        assign: Block,
        body: Block,
        orelse: Block | None,
        rest: Block | None,
        names: Any,
        info: Any,
    ) -> Any:
        statement = _Compound(names, info, assign, body, orelse)
        statement.next_iteration()
        for item in items:
            statement.run(assign, item)
            outcome = statement.run(body)
            if isinstance(outcome, Returned):
                return outcome
            if outcome == self.BREAK:
                return statement.left(None, rest)
            statement.next_iteration()
        return statement.left(statement.run(orelse), rest)

    def try_(
        self,
        body: Block,
        handlers: Any,
        orelse: Block | None,
        final: Block | None,
        rest: Block | None,
        names: Any,
        info: Any,
    ) -> Any:
        statement = _Compound(names, info, body, orelse, final, *(h[2] for h in handlers))
        assert statement.live_head == ()
        outcome = None
        try:
            try:
                outcome = body()
            except BaseException as e:
                for classes, name, block in handlers:
                    if isinstance(e, BaseException if classes is None else classes()):
                        outcome = self.handled(block, name, e)
                        break
                else:
                    raise
            else:
                if outcome is None and orelse is not None:
                    outcome = orelse()
        finally:
            left = final() if final is not None else None
            if left is not None:
                return statement.left(left, rest)  # noqa: B012
        return statement.left(outcome, rest)

    def with_(self, items: Any, body: Block, rest: Block | None, names: Any, info: Any) -> Any:
        functions = [f for item in items for f in item if f and f.__closure__]
        statement = _Compound(names, info, body, *functions)
        outcome = None
        with contextlib.ExitStack() as stack:
            for manager, assign in items:
                value = stack.enter_context(manager())
                if assign is not None:
                    assign(value)
            outcome = body()
        return statement.left(outcome, rest)

    def handled(self, block: Block, name: str | None, e: BaseException) -> Any:
        if name is None:
            return block()
        try:
            return block(e)
        finally:
            cell = cells_of(block)[name]
            if contents(cell) is not _UNBOUND:
                del cell.cell_contents

    def reraise(self) -> None:
        raise

    def assert_(self, test: Any, message: Block | None) -> None:
        if not test:
            raise AssertionError(*([] if message is None else [message()]))

    def raise_(self, error: Any, *cause: Any) -> None:
        if cause:
            raise error from cause[0]
        raise error

    def ternary(self, test: Any, first: Block, second: Block) -> Any:
        return first() if test else second()

    def and_(self, x: Any, *later: Block) -> Any:
        for operand in later:
            if not x:
                return x
            x = operand()
        return x

    def or_(self, x: Any, *later: Block) -> Any:
        for operand in later:
            if x:
                return x
            x = operand()
        return x

    def not_(self, x: Any) -> bool:
        return not x
