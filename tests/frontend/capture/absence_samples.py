"""Programs that ask what a class lacks: each with methods and attributes that it gets later.

`GIVEN` are functions of an array and an object, `MADE` of an array and the class of an object that
they make.
"""

import collections.abc

import numpy as np


def _always(value):
    return lambda *args, **kwargs: value


GIVEN, MADE = {}, {}


def given(**attributes):
    def register(f):
        GIVEN[f.__name__] = f, attributes
        return f

    return register


def made(**attributes):
    def register(f):
        MADE[f.__name__] = f, attributes
        return f

    return register


@given(__eq__=_always(True))
def equal(x, o):
    return x + 1 if o == 5 else x + 2


@given(__ne__=_always(False))
def unequal(x, o):
    return x + 1 if o != 5 else x + 2


@given(__eq__=_always(True))
def equal_on_the_right(x, o):
    return x + 1 if 5 == o else x + 2


@given(__lt__=_always(True))
def less(x, o):
    try:
        return x + 1 if o < 5 else x + 2
    except TypeError:
        return x + 3


@given(__bool__=_always(False))
def truth(x, o):
    return x + 1 if o else x + 2


@given(__len__=_always(0))
def truth_of_a_length(x, o):
    return x + (not o)


@given(__len__=_always(3))
def length(x, o):
    try:
        return x + len(o)
    except TypeError:
        return x + 9


@given(__contains__=_always(True))
def contains(x, o):
    try:
        return x + 1 if 3 in o else x + 2
    except TypeError:
        return x + 9


@given(__eq__=_always(True))
def in_a_list(x, o):
    return x + 1 if o in [4, 5] else x + 2


@given(__getitem__=_always(2.0))
def item(x, o):
    try:
        return x + o[0]
    except TypeError:
        return x + 9


@given(__call__=_always(2.0))
def called(x, o):
    try:
        return x + o()
    except TypeError:
        return x + 9


@given(__call__=_always(2.0))
def is_callable(x, o):
    return x + 1 if callable(o) else x + 2


@given(foo=3.0)
def asked(x, o):
    return x + 1 if hasattr(o, "foo") else x + 2


@given(foo=3.0)
def with_a_default(x, o):
    return x + getattr(o, "foo", 7.0)


@given(foo=3.0)
def tried(x, o):
    try:
        return x + o.foo
    except AttributeError:
        return x + 9


@given(foo=3.0)
def asked_of_the_class(x, o):
    return x + 1 if hasattr(type(o), "foo") else x + 2


@given(__format__=_always("12345"))
def formatted(x, o):
    return x + (f"{o}" == "12345")


@given(__str__=_always("12345"))
def text(x, o):
    return x + (str(o) == "12345")


@given(__repr__=_always("12345"))
def text_of_repr(x, o):
    return x + (str(o) == "12345")


@given(__len__=_always(3))
def is_sized(x, o):
    return x + isinstance(o, collections.abc.Sized)


@given(__hash__=None)
def is_hashable(x, o):
    return x + isinstance(o, collections.abc.Hashable)


@given(__iter__=lambda o: iter([1.0, 2.0]))
def looped(x, o):
    try:
        for v in o:
            x = x + v
        return x
    except TypeError:
        return x + 9


@given(__add__=_always(5.0))
def added(x, o):
    try:
        return x + (o + 1)
    except TypeError:
        return x + 9


@given(__radd__=_always(5.0))
def summed(x, o):
    try:
        return x + sum([o])
    except TypeError:
        return x + 9


@given(__getattr__=_always(4.0))
def looked_up(x, o):
    try:
        return x + o.absent
    except AttributeError:
        return x + 9


@given(__getattribute__=_always(4.0))
def looked_up_always(x, o):
    return x + o.v


@given(__setattr__=lambda o, n, v: object.__setattr__(o, n, v * 2))
def stored(x, o):
    o.v = 3.0
    return x + o.v


@given(v=property(_always(8.0), _always(None)))
def shadowed(x, o):
    return x + o.v


@given(__enter__=_always(2.0), __exit__=_always(False))
def entered(x, o):
    try:
        with o as k:
            return x + k
    except (TypeError, AttributeError):
        return x + 9


@given(__eq__=_always(True), __hash__=_always(hash(5)))
def key(x, o):
    return x + {5: 1.0}.get(o, 2.0)


@given(__delattr__=_always(None))
def deleted(x, o):
    try:
        o.q = 1.0
        del o.q
    except AttributeError:
        return x + 9
    return x + hasattr(o, "q")


@given(__doc__="some text")
def documented(x, o):
    return x + len(type(o).__doc__ or "")


@given(__array_ufunc__=_always(np.array([8.0])))
def operand_of_numpy(x, o):
    try:
        return np.add(x, o)
    except TypeError:
        return x + 9


@made(__setattr__=lambda o, n, v: object.__setattr__(o, n, v * 2))
def stored_in_new(x, C):
    o = C()
    o.q = 3.0
    return x + o.q


@made(q=property(_always(8.0), _always(None)))
def shadowed_in_new(x, C):
    t = 0.0
    for v in x:
        o = C()
        o.q = v
        t += o.q
    return t


@made(__delattr__=_always(None))
def deleted_in_new(x, C):
    o = C()
    o.q = 1.0
    del o.q
    return x + hasattr(o, "q")


@made(__getattr__=_always(4.0))
def looked_up_in_new(x, C):
    o = C()
    try:
        return x + o.absent
    except AttributeError:
        return x + 9


@made(__eq__=_always(True))
def equal_new(x, C):
    return x + (C() == C())


@made(__ne__=_always(False))
def unequal_new(x, C):
    return x + (C() != C())


@made(__bool__=_always(False))
def truth_of_new(x, C):
    return x + (1 if C() else 2)


@made(__len__=_always(0))
def length_of_new(x, C):
    return x + (1 if C() else 2)


@made(__eq__=_always(True), __hash__=_always(1))
def new_keys(x, C):
    return x + len({C(): 1, C(): 2})


@made(__hash__=None)
def unhashable_keys(x, C):
    try:
        return x + len({C(): 1, C(): 2})
    except TypeError:
        return x + 9


@made(__call__=_always(2.0))
def called_new(x, C):
    o = C()
    return x + (o() if callable(o) else 7)


@made(__init__=lambda o: setattr(o, "q", 8.0))
def begun(x, C):
    return x + getattr(C(), "q", 1.0)


@made(__new__=lambda c, *args: object.__new__(c))
def allocated(x, C):
    return x + getattr(C(), "q", 1.0)


@made(__post_init__=lambda o: setattr(o, "q", 5.0))
def begun_later(x, C):
    return x + getattr(C(), "q", 1.0)


@made(__str__=_always("12345"))
def text_of_new(x, C):
    return x + (str(C()) == "12345")


@made(__format__=_always("12345"))
def format_of_new(x, C):
    return x + (f"{C()}" == "12345")


@made(__setitem__=_always(None), __getitem__=_always(3.0))
def items_of_new(x, C):
    o = C()
    try:
        o[0] = 1
        return x + o[0]
    except TypeError:
        return x + 9


@made(m=_always(5.0))
def method_of_new(x, C):
    try:
        return x + C().m()
    except AttributeError:
        return x + 9
