"""Text to graphs; the grammar is in syntax.py. Type rules run as the nodes are read."""

from __future__ import annotations

import ast
import io
import math
import re
import tokenize
from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tracejit.errors import GraphError, Where
from tracejit.ir.dims import Dim, dim_from_ast
from tracejit.ir.graph import Attr, ConstArray, Graph, GraphBuilder, Value
from tracejit.ir.op import OPS
from tracejit.ir.text.print import constant_hash
from tracejit.ir.types import ArrayType, Type, type_from_ast

__all__ = ["parse_graph"]

Array: TypeAlias = "np.ndarray[Any, Any]"


def parse_graph(text: str, constants: Mapping[str, Array] | None = None, file: str = "") -> Graph:
    """The graph that `text` writes down; `constants` holds the arrays of its side table.

    The ops must be registered (`import tracejit.ops`), and the functions that nodes name: no other
    code is imported or called. Runs the ops' type rules; the types in the text must agree.
    Raises GraphError, with the line of `file`, for anything else than such a text.
    """
    return _Parser(text, constants or {}, file).parse()


class _Parser:
    def __init__(self, text: str, constants: Mapping[str, Array], file: str) -> None:
        self.text, self.constants, self.file = text, constants, file or "<graph>"
        self.places: dict[int, Where] = {}

    def parse(self) -> Graph:
        try:
            module = ast.parse(self.text, self.file)
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                place = re.fullmatch(r"# (.+):(\d+)", token.string)
                if token.type == tokenize.COMMENT and place:
                    self.places[token.start[0]] = Where(place[1], int(place[2]))
        except SyntaxError as error:
            line = f"{self.file}:{error.lineno}"
            raise GraphError(f"{line}: {error.msg}\n    {(error.text or '').strip()}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise GraphError(f"{self.file}: {error}") from None
        match module.body:
            case [ast.FunctionDef() as function]:
                return self.graph(function)
        raise GraphError(f"{self.file}: a graph is one `def`")

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        number = getattr(node, "lineno", 1)
        line = self.text.splitlines()[number - 1].strip()
        raise GraphError(f"{self.file}:{number}: {message}\n    {line}")

    def graph(self, function: ast.FunctionDef) -> Graph:
        builder = GraphBuilder(function.name)
        values: dict[str, Value] = {}
        arguments = function.args
        if len(function.args.args) != sum(1 for n in ast.walk(arguments) if type(n) is ast.arg):
            self.fail(function, "parameters are plain names")
        for arg in arguments.args:
            if arg.annotation is None:
                self.fail(arg, f"parameter {arg.arg} has no type")
            if arg.arg in values or arg.arg in builder.sizes:
                self.fail(arg, f"{arg.arg} is defined twice")
            if isinstance(arg.annotation, ast.Name) and arg.annotation.id == "size":
                builder.sizes.append(arg.arg)
            else:
                values[arg.arg] = builder.input(self.type(arg.annotation), arg.arg)
        results = self.results(function)
        regions: dict[str, Graph] = {}
        *body, last = function.body
        for statement in body:
            if isinstance(statement, ast.FunctionDef):
                if statement.name in regions:
                    self.fail(statement, f"{statement.name} is defined twice")
                regions[statement.name] = self.graph(statement)
            else:
                self.statement(builder, statement, values, regions)
        if not isinstance(last, ast.Return):
            self.fail(last, "a graph ends in `return`")
        outputs, size_outputs = self.returned(last, values)
        return builder.build(outputs, results, size_outputs)

    def results(self, function: ast.FunctionDef) -> tuple[str, ...]:
        match function.decorator_list:
            case []:
                return ()
            case [ast.Call(func=ast.Name(id="results"), args=args, keywords=[])]:
                texts = [a.value for a in args if isinstance(a, ast.Constant)]
                strings = [t for t in texts if isinstance(t, str)]
                if len(strings) == len(args):
                    return tuple(strings)
        self.fail(function.decorator_list[0], 'the only decorator is @results("fresh", ...)')

    def returned(
        self, last: ast.Return, values: Mapping[str, Value]
    ) -> tuple[list[Value], tuple[Dim, ...]]:
        match last.value:
            case None:
                items: list[ast.expr] = []
            case ast.Tuple(elts=items):
                pass
            case single:
                items = [single]
        outputs: list[Value] = []
        sizes: list[Dim] = []
        for item in items:
            match item:
                case ast.Call(func=ast.Name(id="size"), args=[dim], keywords=[]):
                    sizes.append(self.dim(dim))
                case _ if sizes:
                    self.fail(item, "sizes are returned after all values")
                case _:
                    outputs.append(self.value(item, values))
        return outputs, tuple(sizes)

    def statement(
        self,
        builder: GraphBuilder,
        statement: ast.stmt,
        values: dict[str, Value],
        regions: dict[str, Graph],
    ) -> None:
        call: ast.expr
        targets: list[ast.expr]
        match statement:
            case ast.AnnAssign(target=one, annotation=annotation, value=ast.Call() as call):
                targets, annotations = [one], [annotation]
            case ast.Assign(
                targets=[ast.Tuple(elts=targets)],
                value=ast.Call(func=ast.Name(id="typed"), args=[call, *annotations], keywords=[]),
            ):
                pass
            case ast.Expr(value=ast.Call() as call):
                targets, annotations = [], []
            case _:
                self.fail(statement, "not a node: expected `name: type = op(...)`")
        types = [self.type(a) for a in annotations]
        outputs = self.emit(builder, call, values, regions)
        found = [v.type for v in outputs]
        if len(types) != len(targets) or found != types:
            rule = ", ".join(map(str, found)) or "nothing"
            self.fail(statement, f"the op's type rule gives {rule}")
        for target, value in zip(targets, outputs, strict=True):
            if not isinstance(target, ast.Name):
                self.fail(statement, "a result is a name")
            if target.id in values or target.id in builder.sizes:
                self.fail(statement, f"{target.id} is defined twice")
            value.name = target.id
            values[target.id] = value

    def emit(
        self,
        builder: GraphBuilder,
        call: ast.expr,
        values: Mapping[str, Value],
        regions: dict[str, Graph],
    ) -> tuple[Value, ...]:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            self.fail(call, "expected the call of an op")
        op = OPS.get(call.func.id)
        if op is None:
            from difflib import get_close_matches

            near = get_close_matches(call.func.id, OPS, 1)
            hint = f", did you mean {near[0]}?" if near else ""
            self.fail(call, f"there is no op {call.func.id}{hint}")
        attrs: dict[str, Attr] = {}
        inner: tuple[Graph, ...] = ()
        binds: tuple[str, ...] = ()
        for item in call.keywords:
            if item.arg == "regions":
                names = self.names(item.value)
                for name in names:
                    if name not in regions:
                        self.fail(call, f"there is no region {name} before this node")
                inner = tuple(regions[name] for name in names)
            elif item.arg == "binds":
                binds = self.names(item.value)
            elif item.arg is None or item.arg in attrs:
                self.fail(call, "attributes are keywords, each given once")
            else:
                attrs[item.arg] = self.attr(item.value)
        inputs = [self.value(a, values) for a in call.args]
        where = self.places.get(call.end_lineno or call.lineno)
        try:
            op.check_read(attrs)
            return builder.emit(op, inputs, attrs, regions=inner, binds=binds, where=where)
        except GraphError as error:
            self.fail(call, f"{op.name}: {error}")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            # A type rule reads its attributes; a missing one, or one of another kind, ends here.
            self.fail(call, f"{op.name}: {type(error).__name__}: {error}")

    def names(self, node: ast.expr) -> tuple[str, ...]:
        if isinstance(node, ast.Tuple):
            names = [item.id for item in node.elts if isinstance(item, ast.Name)]
            if len(names) == len(node.elts):
                return tuple(names)
        self.fail(node, "expected a tuple of names")

    def value(self, node: ast.expr, values: Mapping[str, Value]) -> Value:
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        self.fail(node, f"{ast.unparse(node)} is not a value defined before")

    def type(self, node: ast.expr) -> Type:
        try:
            return type_from_ast(node)
        except (ValueError, ZeroDivisionError, TypeError) as error:
            self.fail(node, str(error))

    def dim(self, node: ast.expr) -> Dim:
        try:
            return dim_from_ast(node)
        except (ValueError, ZeroDivisionError) as error:
            self.fail(node, str(error))

    def attr(self, node: ast.expr) -> Attr:
        match node:
            case ast.Constant(value=None | bool() | str() | float() as value):
                return value
            case ast.Name(id="inf" | "nan" as name):
                return float(name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float(value))):
                return -value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
                return -math.inf
            case ast.Tuple(elts=items):
                return tuple(self.attr(item) for item in items)
            case ast.Call(func=ast.Name(id="complex"), args=[re_, im], keywords=[]):
                parts = [self.attr(re_), self.attr(im)]
                if all(type(p) is float for p in parts):
                    return complex(*parts)
                self.fail(node, "complex(re, im) takes two floats")
            case ast.Call(func=ast.Name(id="array"), args=[kind, *items], keywords=[]):
                return self.array(node, kind, [self.attr(item) for item in items])
            case ast.Call(
                func=ast.Name(id="table"), args=[kind, ast.Constant(value=str(name))], keywords=[]
            ):
                return self.table(node, kind, name)
        return self.dim(node)

    def array(self, node: ast.expr, kind: ast.expr, elements: list[Attr]) -> ConstArray:
        declared = self.type(kind)
        try:
            if isinstance(declared, ArrayType):
                return ConstArray(np.array(elements, declared.dtype).reshape(declared.shape))
        except (ValueError, TypeError, OverflowError) as error:
            self.fail(node, str(error))
        self.fail(node, f"{declared} is not the type of an array")

    def table(self, node: ast.expr, kind: ast.expr, name: str) -> ConstArray:
        array = self.constants.get(name)
        if array is None:
            self.fail(node, f"the constant {name} is not in the table beside the text")
        if ArrayType(array.dtype, array.shape) != self.type(kind) or constant_hash(array) != name:
            self.fail(node, f"the constant {name} in the table is another one")
        return ConstArray(array)
