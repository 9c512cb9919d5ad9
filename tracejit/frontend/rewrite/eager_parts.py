"""From a function that runs eagerly to code in which its loops and callees may be compiled ones.

                           o = None if c0 is None else c0(xs, s)
    for x in xs:           if o is None:
        s = g(s, x)            t0 = None if p0 is None else p0.begin()
                      ->       for x in xs: s = (g if s0 is None else s0(g))(s, x)
                               if t0 is not None: p0.end(t0)
                           else:
                               s, x = o

`c0` is the compiled loop, which gives None where the loop is to run here; `p0` measures it, and
`s0` says what to call in place of a callee. All of them are cells, None at first: what is not worth
it costs next to nothing. `p` without a number measures the whole function. Lines and names stay the
program's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.rewrite.lifted_loops import LiftedLoop, lifted_loops
from tracejit.frontend.rewrite.nodes import all_nodes
from tracejit.frontend.rewrite.source import (
    Definition,
    compile_definition,
    plain,
    same_code,
)

__all__ = ["CALL", "COMPILED", "FUNCTION", "MEASURE", "InParts", "introspects", "in_parts"]

#: Names of cells: of a compiled loop, what measures a loop, a call, and what measures the function.
COMPILED, MEASURE, CALL = "__tracejit_c{}__", "__tracejit_p{}__", "__tracejit_s{}__"
FUNCTION = "__tracejit_p__"
_OUTCOME, _GIVEN, _RESULT = "__tracejit_o__", "__tracejit_a__", "__tracejit_r__"
_START = "__tracejit_t{}__"

#: What looks at the frame that it is called from, or at code.
_LOOKING = frozenset("breakpoint dir eval exec globals locals vars".split())
_FRAMES = frozenset("_getframe currentframe f_back settrace setprofile set_trace".split())


@dataclass(frozen=True)
class InParts:
    """The code of a function in parts; its loops, and the calls that ask what to call.

    A call is known by its line, the text of its callee, and the numbers of the loops around it.
    """

    code: CodeType
    loops: tuple[LiftedLoop, ...]
    calls: tuple[tuple[int, str, tuple[int, ...]], ...]


def introspects(definition: Definition) -> bool:
    """Whether a function may look at its own frame."""
    for n in all_nodes(definition.node):
        if isinstance(n, ast.Name) and n.id in _LOOKING:
            return True
        if isinstance(n, ast.Attribute) and n.attr in _FRAMES:
            return True
        if isinstance(n, ast.alias) and n.name in _FRAMES:
            return True
    return False


def in_parts(
    definition: Definition,
    code: CodeType,
    names: Mapping[str, Any],
    is_asked: Callable[[ast.expr], bool],
    is_measured: bool,
) -> InParts:
    """`code`, that of `definition`, in parts.

    `names` are the function's globals; `is_asked` tells whether calls of a callee ask what to call.
    Raises ValueError and SyntaxError where there is no such code.
    """
    if not isinstance(definition.node, ast.FunctionDef):
        raise ValueError("a lambda")
    loops = lifted_loops(definition, code, names)
    rewriter = _Rewriter(loops, is_asked, is_measured)
    node = rewriter.function(plain(definition.node))
    cells = [FUNCTION] if is_measured else []
    for k in range(len(loops)):
        cells += [COMPILED.format(k), MEASURE.format(k)]
    cells += [CALL.format(k) for k in range(len(rewriter.calls))]
    made = compile_definition(definition, node, (*code.co_freevars, *cells))
    return InParts(_with_original(made, code), tuple(loops), tuple(rewriter.calls))


def _with_original(new: CodeType, old: CodeType) -> CodeType:
    """`new` with the very code of the functions inside it, and with its names."""
    inner = [c for c in old.co_consts if isinstance(c, CodeType)]
    made = [c for c in new.co_consts if isinstance(c, CodeType)]
    if [c.co_name for c in inner] != [c.co_name for c in made]:
        raise ValueError("other functions inside")
    known = iter(inner)
    sets = {_set_key(c): c for c in old.co_consts if isinstance(c, frozenset)}
    constants: list[Any] = []
    for c in new.co_consts:
        if isinstance(c, CodeType):
            first = next(known)
            c = first if same_code(first, c) else _with_original(c, first)
        elif isinstance(c, frozenset):
            c = sets.get(_set_key(c), c)
        constants.append(c)
    return new.replace(co_consts=tuple(constants), co_qualname=old.co_qualname)


def _set_key(x: frozenset[Any]) -> frozenset[Any]:
    return frozenset((type(v), repr(v)) for v in x)


class _Rewriter(ast.NodeTransformer):
    """Rewrites the loops, returns and calls of a function. It makes new nodes."""

    def __init__(
        self, loops: list[LiftedLoop], is_asked: Callable[[ast.expr], bool], is_measured: bool
    ) -> None:
        self.loops = {id(loop.node): (k, loop) for k, loop in enumerate(loops)}
        self.is_asked, self.is_measured = is_asked, is_measured
        self.calls: list[tuple[int, str, tuple[int, ...]]] = []
        #: The numbers of the lifted loops around.
        self.around: tuple[int, ...] = ()

    def function(self, node: Any) -> Any:
        head = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        body = [*head, *self._visit_all(node.body[len(head) :])]
        if self.is_measured:
            start = f"{_START.format('')} = None if {FUNCTION} is None else {FUNCTION}.begin()"
            end = _parsed(_ended(_START.format(""), FUNCTION), node.body[-1])
            body = [*head, *_parsed(start, node), *body[len(head) :], *end]
        new = ast.FunctionDef(node.name, node.args, body, [])
        new.type_params = []  # type: ignore[attr-defined, unused-ignore]
        return ast.copy_location(new, node)

    def _visit_all(self, statements: list[Any]) -> list[Any]:
        out: list[Any] = []
        for s in statements:
            new = self.visit(s)
            out += new if isinstance(new, list) else [new]
        return out

    def generic_visit(self, node: ast.AST) -> Any:
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                if all(isinstance(v, ast.AST) for v in value):
                    value = self._visit_all(value)
            elif isinstance(value, ast.AST):
                value = self.visit(value)
            fields[name] = value
        return ast.copy_location(type(node)(**fields), node)

    def _same(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _same
    visit_pattern = _same

    def visit_match_case(self, node: Any) -> Any:
        new: Any = ast.match_case(node.pattern, node.guard, self._visit_all(node.body))
        return new

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        new: Any = self.generic_visit(node)
        new.annotation = node.annotation
        return new

    def visit_Call(self, node: ast.Call) -> Any:
        new: Any = self.generic_visit(node)
        if _is_plain(node.func) and self.is_asked(node.func):
            cell = CALL.format(len(self.calls))
            self.calls.append((node.lineno, ast.unparse(node.func), self.around))
            callee = f"({{}} if {cell} is None else {cell}({{}}))".replace("{}", "_")
            choice: Any = _parsed(callee, node.func)[0].value
            choice.body = node.func
            choice.orelse.args = [node.func]
            new.func = choice
        return new

    def visit_Return(self, node: ast.Return) -> Any:
        new: Any = self.generic_visit(node)
        ends = self._ends()
        if not ends:
            return new
        result = _parsed(f"{_RESULT} = None", node)
        if new.value is not None:
            result[0].value = new.value
        return [*result, *_parsed(ends, node), *_parsed(f"return {_RESULT}", node)]

    def _ends(self) -> str:
        """What ends the measures of all that a return leaves."""
        measures = [(_START.format(k), MEASURE.format(k)) for k in self.around]
        if self.is_measured:
            measures.append((_START.format(""), FUNCTION))
        return "\n".join(_ended(*m) for m in measures)

    def _loop(self, node: Any) -> Any:
        known = self.loops.get(id(node))
        if known is None:
            return self.generic_visit(node)
        k, loop = known
        place = _header(node)
        before, after = _parsed(_around(k, loop, self._ends()), place), []
        self.around = (*self.around, k)
        new = self.generic_visit(node)
        self.around = self.around[:-1]
        after = before[-1]
        after.body[1:2] = [new]
        return before

    visit_For = visit_While = _loop


def _around(k: int, loop: LiftedLoop, ends: str) -> str:
    """The statements around a lifted loop, which stands where `...` is."""
    compiled, measure, start = COMPILED.format(k), MEASURE.format(k), _START.format(k)
    names = ", ".join(loop.taken)
    if loop.certain:
        call = f"{_OUTCOME} = None if {compiled} is None else {compiled}({names})"
    else:
        call = f"""
{_OUTCOME} = None
if {compiled} is not None:
    try:
        {_GIVEN} = ({names}{"," * bool(names)})
    except NameError:
        {_GIVEN} = None
    if {_GIVEN} is not None:
        {_OUTCOME} = {compiled}(*{_GIVEN})
        {_GIVEN} = None"""
    given = [f"{name} = {_OUTCOME}[{2 * loop.returns + i}]" for i, name in enumerate(loop.given)]
    if not loop.returns and loop.given:
        given = [f"({', '.join(loop.given)},) = {_OUTCOME}"]
    if loop.returns:
        ends = ends.replace("\n", "\n        ")
        given.insert(
            0, f"if {_OUTCOME}[0]:\n        {ends or 'pass'}\n        return {_OUTCOME}[1]"
        )
    rest = "\n    ".join([*given, f"{_OUTCOME} = None"])
    return f"""{call}
if {_OUTCOME} is None:
    {start} = None if {measure} is None else {measure}.begin()
    ...
    {_ended(start, measure)}
else:
    {rest}"""


def _ended(start: str, measure: str) -> str:
    return f"{measure}.end({start}) if {start} is not None and {measure} is not None else None"


def _parsed(text: str, place: Any) -> list[Any]:
    """The statements of a text, placed where a node is."""
    statements: list[Any] = ast.parse(text).body
    for s in statements:
        for part in all_nodes(s):
            ast.copy_location(part, place)
    return statements


def _header(node: Any) -> Any:
    """The place of a loop's first line."""
    last = node.iter if isinstance(node, ast.For) else node.test
    place = ast.copy_location(ast.Pass(), node)
    place.end_lineno, place.end_col_offset = last.end_lineno, last.end_col_offset
    return place


def _is_plain(callee: ast.expr) -> bool:
    """Whether a callee is a name, or attributes of one."""
    while isinstance(callee, ast.Attribute):
        callee = callee.value
    return isinstance(callee, ast.Name)
