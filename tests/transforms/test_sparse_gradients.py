"""Gradients by rows: those of tables of which few rows are read, without an array of the table."""

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.ir.graph import Graph
from tracejit.ir.regions import nested

TABLE = np.random.default_rng(0).normal(size=(1000, 4))
IDX = np.array([3, 7, 3, -1, 999, 0, 7])
WEIGHTS = np.random.default_rng(1).normal(size=(7, 4))


def loss(table, idx, w):
    return (np.sin(table[idx]) * w).sum()


def both(transform: Any, *args: Any) -> list[Any]:
    """What a transformed function gives compiled, and under eager()."""
    compiled = transform(*args)
    with tracejit.eager():
        return [compiled, transform(*args)]


def made_of_table_size(graph: Graph) -> list[str]:
    """The ops that make an array as large as the table, those that change one in place aside."""
    return [
        n.op.name
        for n in nested(graph.nodes)
        for v in n.outputs
        if getattr(v.type, "shape", ())[:1] == (1000,)
        and n.op.name not in ("reshape", "scatter_apply", "while_loop")
    ]


def test_the_rows_are_those_that_were_read() -> None:
    for found in both(tracejit.grad(loss, sparse_rows=True), TABLE, IDX, WEIGHTS):
        assert type(found) is tracejit.RowGradient
        assert found.shape == (1000, 4) and found.rows.dtype == np.int64
        assert np.array_equal(found.rows, IDX % 1000)
        assert np.allclose(found.values, np.cos(TABLE[IDX]) * WEIGHTS, rtol=1e-13)
        assert np.allclose(found.dense(), tracejit.grad(loss)(TABLE, IDX, WEIGHTS), rtol=1e-13)


def test_no_array_of_the_tables_shape_is_made() -> None:
    gradient = tracejit.grad(loss, sparse_rows=True)
    for name, graph in gradient.lower(TABLE, IDX, WEIGHTS).graphs.items():
        assert made_of_table_size(graph) == [], name
    assert made_of_table_size(tracejit.grad(loss).trace(TABLE, IDX, WEIGHTS))


def test_a_step_of_descent_in_one_compiled_function() -> None:
    @tracejit.jit(strict=True)
    def step(table, idx, w, rate):
        value, g = tracejit.value_and_grad(loss, sparse_rows=True)(table, idx, w)
        g.add_to(table, -rate)
        return value

    table, wanted = TABLE.copy(), TABLE.copy()
    for _ in range(3):
        value = step(table, IDX, WEIGHTS, 0.1)
        assert np.isclose(value, loss(wanted, IDX, WEIGHTS), rtol=1e-13)
        wanted -= 0.1 * tracejit.grad(loss)(wanted, IDX, WEIGHTS)
        assert np.allclose(table, wanted, rtol=1e-12)
    graph = step.lower(table, IDX, WEIGHTS, 0.1).graphs["hoist_checks"]
    assert made_of_table_size(graph) == []
    (variant,) = step.report().variants
    assert variant.buffers.in_place and not variant.buffers.copies
    assert variant.buffers.peak_bytes({}) < TABLE.nbytes


def test_an_index_out_of_range_leaves_the_table_as_it_was() -> None:
    @tracejit.jit
    def add(table, rows, values):
        tracejit.RowGradient(rows, values, table.shape).add_to(table, 2.0)

    table = TABLE.copy()
    add(table, IDX, WEIGHTS)
    wanted = TABLE.copy()
    np.add.at(wanted, IDX, 2.0 * WEIGHTS)
    assert np.array_equal(table, wanted)
    for bad in (1000, -1001):
        with pytest.raises(IndexError):
            add(table, np.append(IDX[1:], bad), WEIGHTS)
        with pytest.raises(IndexError):
            np.add.at(wanted, np.append(IDX[1:], bad), 2.0 * WEIGHTS)
        assert np.array_equal(table, wanted)
    assert not add.report().fallbacks


def test_outside_compiled_code_it_is_plain_numpy() -> None:
    g = tracejit.grad(loss, sparse_rows=True)(TABLE, IDX, WEIGHTS)
    table = TABLE.copy()
    g.add_to(table, -0.5)
    assert np.allclose(table, TABLE - 0.5 * g.dense(), rtol=1e-13)
    with pytest.raises(ValueError, match="another shape"):
        g.add_to(table[1:])


def test_reads_of_every_form_are_put_together() -> None:
    def f(table, idx, i):
        a = table[idx.reshape(7, 1)].sum() + (table[i] ** 2).sum() + (table[2] * 3).sum()
        a += (
            (table[4:8:2] ** 3).sum()
            + np.take(table, idx, axis=0).mean()
            + table[idx[0]][1] * table[2][3]
        )
        return a

    sparse = tracejit.grad(f, sparse_rows=True)
    wanted = tracejit.grad(f)(TABLE, IDX, 5)
    for found in both(sparse, TABLE, IDX, 5):
        assert np.allclose(found.dense(), wanted, rtol=1e-13)
        assert len(found.rows) == len(found.values) == 7 + 1 + 1 + 2 + 7 + 1 + 1


def test_other_arguments_stay_dense() -> None:
    def f(params, idx, bias):
        return (np.tanh(params["in"][idx] + bias) @ params["out"][idx[:2]].T).sum()

    params = {"in": TABLE, "out": TABLE[:, ::-1].copy()}
    wanted = tracejit.grad(f, argnums=(0, 2))(params, IDX, WEIGHTS[0])
    for rows, bias in both(
        tracejit.grad(f, argnums=(0, 2), sparse_rows=0), params, IDX, WEIGHTS[0]
    ):
        assert np.allclose(bias, wanted[1], rtol=1e-12)
        for name in params:
            assert np.allclose(rows[name].dense(), wanted[0][name], rtol=1e-12)


def test_dtypes_and_vectors() -> None:
    table = np.arange(10, dtype=np.float32)
    idx = np.array([1, 1, 250, 9], np.uint8) % 10
    sparse = tracejit.grad(lambda t, i: (t[i] ** 2).sum(), sparse_rows=True)
    for found in both(sparse, table, idx):
        assert found.values.dtype == np.float32 and found.values.shape == (4,)
        assert np.array_equal(found.dense(), np.float32([0, 4, 0, 0, 0, 0, 0, 0, 0, 18]))
        step = table.copy()
        found.add_to(step, 2.0)
        assert step.dtype == np.float32 and step[1] == 9.0


def test_a_table_that_is_not_read_has_no_rows() -> None:
    for found in both(tracejit.grad(lambda t: 1.0 + t.shape[0] * 2.0, sparse_rows=True), TABLE):
        assert found.rows.shape == (0,) and found.values.shape == (0, 4)
        assert not found.dense().any()


def test_sizes_become_symbolic() -> None:
    gradient = tracejit.grad(loss, sparse_rows=True)
    for n in (5, 6, 7):
        found = gradient(TABLE[: 100 * n], IDX[:n] % 100, WEIGHTS[:n])
        assert found.shape == (100 * n, 4) and len(found.rows) == n
        assert np.allclose(found.values, np.cos(TABLE[IDX[:n] % 100]) * WEIGHTS[:n], rtol=1e-13)
    assert len(gradient.report().compiles) == 2


def test_what_carries_no_derivative_may_read_all() -> None:
    def f(table, idx):
        scale = tracejit.stop_gradient(table).max()
        return (table[idx] * scale).sum() + (table > 0).sum() * 1.0

    for found in both(tracejit.grad(f, sparse_rows=True), TABLE, IDX):
        assert np.allclose(found.values, TABLE.max(), rtol=1e-13)


def in_a_loop(table, idx):
    total = 0.0
    for i in idx:
        total = total + table[i].sum()
    return total


@pytest.mark.parametrize(
    ("f", "line"),
    [
        (lambda table, idx: (table * table[idx].sum()).sum(), "table * table"),
        (lambda table, idx: table[idx].sum() + table[:, 1].sum(), "table[:, 1]"),
        (lambda table, idx: table[idx, idx % 4].sum(), "table[idx, idx % 4]"),
        (lambda table, idx: table[idx].sum() + np.sum(table), "np.sum(table)"),
        (in_a_loop, "for i in idx"),
    ],
)
def test_other_uses_are_refused(f, line) -> None:
    with pytest.raises(TypeError, match="only whole rows are read") as found:
        tracejit.grad(f, sparse_rows=True).trace(TABLE, IDX)
    assert line in str(found.value)
    with pytest.raises(TypeError, match="only whole rows are read"):
        tracejit.grad(lambda t, i: (t * 2)[i].sum(), sparse_rows=True)(TABLE, IDX)
    with tracejit.eager(), pytest.raises(TypeError, match="only whole rows are read"):
        tracejit.grad(lambda t, i: (t * 2)[i].sum(), sparse_rows=True)(TABLE, IDX)


def test_arguments_that_have_no_rows() -> None:
    with pytest.raises(TypeError, match="arrays of one axis"):
        tracejit.grad(lambda a: a * 2, sparse_rows=True)(1.0)
    with pytest.raises(TypeError, match="that argnums does not"):
        tracejit.grad(lambda a, b: a * b, argnums=0, sparse_rows=1)(1.0, 2.0)


class Layer:
    def __init__(self, weight):
        self.weight = weight


class Model:
    def __init__(self):
        self.words, self.head = Layer(TABLE.copy()), Layer(WEIGHTS[:4].copy())
        self.tables = {"a": [TABLE[:20].copy()], "b": np.ones(4)}


def of_model(model, idx):
    h = np.tanh(model.words.weight[idx] + model.tables["a"][0][idx % 20])
    return (h @ model.head.weight * model.tables["b"]).sum()


def test_parts_of_an_argument_by_name() -> None:
    wanted = tracejit.grad(of_model)(Model(), IDX)
    sparse = tracejit.grad(of_model, sparse_rows=("model.words", "model.tables.a.0"))
    for found in both(sparse, Model(), IDX):
        assert np.allclose(found.head.weight, wanted.head.weight, rtol=1e-13)
        assert np.allclose(found.tables["b"], wanted.tables["b"], rtol=1e-13)
        rows = found.words.weight, found.tables["a"][0]
        assert [r.summed().rows.tolist() for r in rows] == [
            sorted({*IDX % 1000}),
            sorted({*IDX % 20}),
        ]
        assert np.allclose(rows[0].dense(), wanted.words.weight, rtol=1e-13)
        assert np.allclose(rows[1].scaled(2.0).dense(), 2 * wanted.tables["a"][0], rtol=1e-13)
        assert np.isclose(rows[1].norm(), np.linalg.norm(wanted.tables["a"][0]), rtol=1e-13)
    # An array of two names is one leaf.
    model = Model()
    model.other = model.words
    found = tracejit.grad(of_model, sparse_rows="model.other.weight")(model, IDX)
    assert found.words.weight is found.other.weight and len(found.words.weight.rows) == len(IDX)
    with pytest.raises(TypeError, match=r"no 'weights' on the path 'words.weights'"):
        tracejit.grad(of_model, sparse_rows="model.words.weights")(Model(), IDX)
    with pytest.raises(TypeError, match="only whole rows are read"):
        tracejit.grad(of_model, sparse_rows="model.head")(Model(), IDX)
