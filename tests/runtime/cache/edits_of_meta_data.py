"""Programs that read what a class says of itself, which is changed between two processes."""

from __future__ import annotations

from tests.runtime.cache.edit import Edit, one

__all__ = ["META_DATA"]

_DOCUMENTED = """
class Base:
    "abc"
class P(Base):
    "abcd"
    def m(self):
        "method"
        return 2.0
    @property
    def k(self):
        "property"
        return 2.0
    @classmethod
    def c(cls):
        "class method"
        return 2.0
p = P()
"""
_FIELDS = """
@dataclasses.dataclass
class P:
    a: float = dataclasses.field(default=2.0, metadata={"unit": 3.0}, repr=True)
    b: float = 4.0
"""

META_DATA: dict[str, Edit] = {
    "class_doc": one("x * len(P.__doc__)", '"abcd"', '"abcdef"', "", _DOCUMENTED),
    "class_doc_of_object": one("x * len(p.__doc__)", '"abcd"', '"abcdef"', "", _DOCUMENTED),
    "class_doc_of_base": one(
        "x * len(P.__mro__[1].__doc__)", '"abc"', '"abcdef"', "", _DOCUMENTED
    ),
    "class_doc_gone": one("x if P.__doc__ else x * 2", '    "abcd"\n', "", "", _DOCUMENTED),
    "class_doc_set": one(
        "x * len(P.__doc__)", "p = P()", 'P.__doc__ = "abcdef"\np = P()', "", _DOCUMENTED
    ),
    "method_doc": one("x * len(P.m.__doc__)", '"method"', '"methods"', "", _DOCUMENTED),
    "bound_method_doc": one("x * len(p.m.__doc__)", '"method"', '"methods"', "", _DOCUMENTED),
    "property_doc": one("x * len(P.k.__doc__)", '"property"', '"properties"', "", _DOCUMENTED),
    "property_doc_given": one(
        "x * len(P.k.__doc__)", '"abc"', '"abcd"', "",
        'class P:\n    k = property(lambda self: 2.0, doc="abc")',
    ),
    "class_method_doc": one(
        "x * len(P.c.__doc__)", '"class method"', '"class methods"', "", _DOCUMENTED
    ),
    "class_name_set": one(
        "x * len(P.__name__)", "p = P()", 'P.__name__ = "Point"\np = P()', "", _DOCUMENTED
    ),
    "class_qualname_set": one(
        "x * len(P.__qualname__)", "p = P()", 'P.__qualname__ = "P.P"\np = P()', "", _DOCUMENTED
    ),
    "class_module_set": one(
        "x * len(P.__module__)", "p = P()", 'P.__module__ = "m"\np = P()', "", _DOCUMENTED
    ),
    "class_annotations": one(
        "x * len(P.__annotations__)", "#", "b: int", "", "class P:\n    a: int\n    #"
    ),
    "class_annotation_texts": one(
        "x * len(P.__annotations__['a'])", "'int'", "'float'", "", "class P:\n    a: 'int'"
    ),
    "class_subclasses": one(
        "x * len(P.__subclasses__())", "#", "class R(P): pass", "",
        "class P: pass\nclass Q(P): pass\n#",
    ),
    "class_dict": one("x * len(vars(P))", "#", "b = 3", "", "class P:\n    a = 1\n    #"),
    "class_set": one("x * max(P.a)", "{1, 2}", "{1, 3}", "", "class P:\n    a = {1, 2}"),
    "class_module_value": one(
        "x * P.a.pi", "math", "np.e.__class__", "", "class P:\n    a = math"
    ),
    "abstract_methods": one(
        "x * len(P.__abstractmethods__)", "#", "@abc.abstractmethod", "",
        "import abc\nclass P(abc.ABC):\n    @abc.abstractmethod\n    def a(self): pass\n"
        "    #\n    def b(self): pass",
    ),
    "field_metadata": one(
        "x * dataclasses.fields(P)[0].metadata['unit']", '"unit": 3.0', '"unit": 5.0', "", _FIELDS
    ),
    "field_default": one("x * dataclasses.fields(P)[1].default", "= 4.0", "= 5.0", "", _FIELDS),
    "field_repr": one("x * dataclasses.fields(P)[0].repr", "repr=True", "repr=False", "", _FIELDS),
    "field_count": one(
        "x * len(dataclasses.fields(P))", "b: float = 4.0", "b: float = 4.0\n    c: int = 1", "",
        _FIELDS,
    ),
    "dataclass_frozen": one(
        "x * P.__dataclass_params__.frozen", ".dataclass", ".dataclass(frozen=True)", "", _FIELDS
    ),
    "enum_count": one(
        "x * len(E)", "#", "C = 3", "", "class E(enum.Enum):\n    A = 1\n    B = 2\n    #"
    ),
    "enum_members": one(
        "x * len(E.__members__)", "#", "C = 1", "",
        "class E(enum.Enum):\n    A = 1\n    B = 2\n    #",
    ),
    "enum_name": one(
        "x * len(list(E)[0].name)", "A = 1", "ALONG = 1", "", "class E(enum.Enum):\n    A = 1"
    ),
    "enum_doc": one(
        "x * len(E.__doc__)", "'abc'", "'abcd'", "", "class E(enum.Enum):\n    'abc'\n    A = 1"
    ),
    "enum_order": one(
        "x * [m.value for m in E][0]", "A = 1\n    B = 2", "B = 2\n    A = 1", "",
        "class E(enum.Enum):\n    A = 1\n    B = 2",
    ),
    "named_tuple_defaults": one(
        "x * P._field_defaults['a']", "= 2.0", "= 3.0", "",
        "from typing import NamedTuple\nclass P(NamedTuple):\n    a: float = 2.0",
    ),
    "function_doc": one(
        "x * len(h.__doc__)", "'abc'", "'abcd'", "", "def h(x):\n    'abc'\n    return x"
    ),
    "function_doc_set": one(
        "x * len(h.__doc__)", "#", "h.__doc__ = 'abcd'", "",
        "def h(x):\n    'abc'\n    return x\n#",
    ),
    "function_name_set": one(
        "x * len(h.__name__)", "#", "h.__name__ = 'helper'", "", "def h(x): return x\n#"
    ),
    "module_doc": Edit(
        "import {name}_other as other\n@jit\ndef f(x): return x * len(other.__doc__)\n",
        "'abc'", "'abcd'", "", "'abc'\n",
    ),
}  # fmt: skip
