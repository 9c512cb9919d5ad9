"""Loaders: what a batch of 10 MB costs beyond making it, and memory over 10,000 batches.

A consumer that has other work finds its batches ready: it sleeps, which is not counted, and its
time is that of `next`. CPU time is the consumer's, and that of its workers; making the same batches
without a loader is the yardstick. Run it with `--threads 2`, or all processes share one CPU.
"""

import os
import time
from pathlib import Path
from statistics import median

import numpy as np

from tracejit import data

from .harness import Table, absent, peer
from .memory import NOISE, PAGE

SIZE, WIDTH, BATCH = 1024, 20_000, 128
#: Seconds of other work of the consumer, for each batch.
WORK = 0.02
BATCHES, SMALL_BATCHES = 80, 10_000


class Images:
    """Samples that take some work to make: 80 kB, and a label."""

    def __init__(self):
        self.base = np.random.default_rng(0).random((SIZE, WIDTH), np.float32)

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        return self.base[index] * np.float32(2), index


class Indices:
    """Small samples."""

    def __len__(self):
        return 4 * SMALL_BATCHES

    def __getitem__(self, index):
        return np.full(8, index, np.float32), index


def samples_raw(images, rng):
    """The batches of an epoch, without a loader."""
    order = rng.permutation(len(images)).tolist()
    for start in range(0, len(order), BATCH):
        samples = [images[index] for index in order[start : start + BATCH]]
        yield np.stack([x for x, _ in samples]), np.array([y for _, y in samples])


def rows_raw(arrays, rng):
    """As `samples_raw`, of arrays."""
    order = rng.permutation(len(arrays[0]))
    for start in range(0, len(order), BATCH):
        yield tuple(x[order[start : start + BATCH]] for x in arrays)


def used(pids):
    """Seconds of CPU that other processes have used."""
    tasks = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) * 1e-9


def children(batches, source):
    """The workers of a loader that runs."""
    workers = getattr(batches, "_workers", None)
    if workers is None:
        workers = [w.process for w in getattr(source._maker, "workers", [])] if source else []
    return [worker.pid for worker in workers]


def measured(epoch, source, count):
    """Medians of wall and CPU seconds of `next`, and CPU seconds of all for each batch."""
    wall, cpu = [], []
    batches = iter(epoch())
    for _ in range(4):
        next(batches)
    pids = children(batches, source)
    before = used(pids) + time.process_time()
    for _ in range(count):
        time.sleep(WORK)
        start, start_cpu = time.perf_counter(), time.process_time()
        batch = next(batches, None)
        if batch is None:
            batches = iter(epoch())
            batch = next(batches)
            del batch
            continue
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
        del batch
    pids = children(batches, source)
    whole = (used(pids) + time.process_time() - before) / count
    return median(wall), median(cpu), whole


def torch_loader(source):
    """PyTorch's DataLoader of the same samples, or None without PyTorch."""
    torch = peer("torch")
    if torch is None:
        return None
    options = {"batch_size": BATCH, "shuffle": True, "num_workers": 2}
    return torch.utils.data.DataLoader(source, persistent_workers=True, **options)


def costs(count):
    """Costs of a batch, by kind of source and by who makes it."""
    table = Table("a batch of 10 MB: ms of `next` in the consumer, CPU ms of all processes", [])
    images = Images()
    arrays = images.base, np.arange(SIZE)
    rng = np.random.default_rng(1)
    for name, source, raw in (("samples", images, samples_raw), ("rows", arrays, rows_raw)):
        made = None
        makers = {"raw": None, "tracejit": {}, "threads=2": {"threads": 2}}
        makers |= {"workers=2": {"workers": 2}, "torch, workers=2": None}
        for maker, options in makers.items():
            loader = None
            if maker == "raw":
                epoch = lambda raw=raw, source=source: raw(source, rng)  # noqa: E731
            elif options is None:
                given = source if name == "samples" else list(zip(*source, strict=True))
                loader = torch_loader(given)
                if loader is None:
                    continue
                epoch, loader = loader.__iter__, None
            else:
                loader = data.Loader(source, BATCH, shuffle=rng, **options)
                epoch = loader.__iter__
            wall, cpu, whole = (1e3 * x for x in measured(epoch, loader, count))
            made = made or whole
            row = {"": f"{name}, {maker}", "next, wall": wall, "next, CPU": cpu, "all, CPU": whole}
            table.rows.append(row | {"all - raw": whole - made})
            if loader is not None:
                loader.close()
            if maker == "workers=2":
                table.require(f"{name}: ms of `next` beside two workers", wall, at_most=1)
                table.require(f"{name}: CPU ms of `next` beside two workers", cpu, at_most=1)
    table.notes += absent("torch")
    return table


def resident(pid):
    """Bytes of a process that are in memory and its own."""
    fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return (int(fields[1]) - int(fields[2])) * PAGE


def growth(count):
    """Memory and open files of the consumer and its workers, over many small batches."""
    table = Table(f"growth over {count} batches of 4, after the first tenth", [])
    for maker, options in {"threads=2": {"threads": 2}, "workers=2": {"workers": 2}}.items():
        with data.Loader(Indices(), 4, shuffle=True, **options) as loader:
            first = {}
            for k, _ in enumerate(loader):
                if k in (count // 10, count - 1):
                    pids = [os.getpid(), *children(None, loader)]
                    now = {p: (resident(p), len(os.listdir(f"/proc/{p}/fd"))) for p in pids}
                    first = first or now
                if k == count - 1:
                    break
        for p, (size, files) in now.items():
            who = "consumer" if p == os.getpid() else "worker"
            grown = size - first[p][0]
            row = {"": f"{maker}, {who}", "bytes": size, "grown": grown}
            table.rows.append(row | {"more files": files - first[p][1]})
            table.require(f"{maker}: bytes that the {who} grows", grown, at_most=NOISE)
    return table


def run(quick: bool) -> list[Table]:
    return [costs(16 if quick else BATCHES), growth(1000 if quick else SMALL_BATCHES)]
