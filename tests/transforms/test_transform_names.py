"""Functions that transforms make say what they are, before anything of them is needed."""

import inspect
import subprocess
import sys

import pytest

import tracejit


def loss(w, x):
    """Of a fit."""
    return (w * x).sum()


MADE = {
    "grad(loss)": lambda: tracejit.grad(loss),
    "value_and_grad(loss)": lambda: tracejit.value_and_grad(loss, argnums=(0, 1)),
    "jacobian(loss)": lambda: tracejit.jacobian(loss),
    "hessian(loss)": lambda: tracejit.hessian(loss),
    "vmap(loss)": lambda: tracejit.vmap(loss, in_axes=(None, 0)),
}


@pytest.mark.parametrize("name", MADE)
def test_names_and_signatures(name):
    made = MADE[name]()
    assert repr(made) == f"<jitted {name}>" and made.__qualname__ == name
    assert made.__module__ == __name__ and made.__doc__ == "Of a fit."
    assert list(inspect.signature(made).parameters) == ["w", "x"]
    assert made.__wrapped__ is made.__tracejit__
    assert repr(made) == f"<jitted {name}>" and made.__qualname__ == name


@pytest.mark.parametrize(
    "make",
    [
        lambda: tracejit.grad(3),
        lambda: tracejit.vmap("f"),
        lambda: tracejit.grad(loss, argnums=1.5),
    ],
)
def test_wrong_arguments_are_told_at_once(make):
    with pytest.raises(TypeError):
        make()


def test_another_mode_is_told_at_once():
    with pytest.raises(ValueError, match="forward"):
        tracejit.jacobian(loss, mode="sideways")


def test_nothing_of_the_compiler_is_imported_for_them():
    code = """if True:
        import sys, tracejit
        f = tracejit.grad(lambda x: x * x)
        tracejit.vmap(f), tracejit.hessian(f), repr(f), f.__name__
        print([m for m in sys.modules if m.startswith(("tracejit.transforms", "tracejit.ir"))])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
