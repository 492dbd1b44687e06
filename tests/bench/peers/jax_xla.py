#!/usr/bin/env python3
"""jax_xla.py -- XLA's transpose (jax.jit of x.T.copy()) on a GPU, as rows of `transposed bench`.

JAX gives no way to put events into its stream. A time is the wall clock's over a burst of calls that are under way together, so
that a cell of a few microseconds shows the call and not the kernel: read it as a bound from above.
"""
import os
import sys
import time

import peer


class XlaWork(peer.Work):
    name = "xla"
    device = "cuda:0"
    reference = "jax.jit(jnp.copy) of the same bytes, in turns, wall clock over a burst of asynchronous calls"

    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        try:
            import jax
        except ImportError as why:
            raise peer.Skip(f"JAX is not installed: {why}") from why
        jax.config.update("jax_enable_x64", True)
        try:
            self.on = jax.devices("gpu")[0]
        except RuntimeError as why:
            raise peer.Skip(f"JAX is here and sees no GPU: {why}") from why
        self.jax, self.jnp = jax, jax.numpy
        self.device_name = self.on.device_kind
        self.types = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
        self.copied = jax.jit(jax.numpy.copy)
        self.release()

    def prepare(self, cell):
        jax, jnp = self.jax, self.jnp
        stats = self.on.memory_stats() or {}
        if 5 * cell.bytes > stats.get("bytes_limit", 1 << 62):
            raise peer.Unsupported(f"{5 * cell.bytes} bytes of GPU memory are not free")
        self.cell = cell
        shape = (cell.batch, cell.rows, cell.cols)
        with jax.default_device(self.on):
            key = jax.random.key(cell.bytes)
            if cell.itemsize == 16:
                self.matrix = jax.jit(lambda k: jax.random.normal(k, shape, "complex128"))(key)
            else:
                self.matrix = jax.jit(lambda k: jax.random.bits(k, shape, self.types[cell.itemsize]))(key)
        self.work = jax.jit(lambda x: jnp.transpose(x, (0, 2, 1)).copy())

    def is_right(self):
        """Compared in one compiled pass, where the transpose is an index and no array."""
        out = self.work(self.matrix)
        same = self.jax.jit(lambda a, b: (a == b.transpose(0, 2, 1)).all())(out, self.matrix)
        rows = [0, self.cell.rows - 1]  # and two columns of the output on the host, past any compiler's cleverness
        for at in rows:
            if bytes(self.jax.device_get(out[-1, :, at]).data) != bytes(self.jax.device_get(self.matrix[-1, at, :]).data):
                return False
        return bool(same)

    def timed(self, work):
        # Ten at least: the first are under way while the later ones are still being made.
        calls = max(10, self.cell.burst)
        self.jax.block_until_ready(self.matrix)
        begin = time.perf_counter()
        for _ in range(calls):
            out = work(self.matrix)
        self.jax.block_until_ready(out)
        return (time.perf_counter() - begin) / calls

    def transpose(self):
        return self.timed(self.work)

    def copy(self):
        return self.timed(self.copied)

    def release(self):
        self.cell = self.matrix = self.work = None


if __name__ == "__main__":
    sys.exit(peer.main(XlaWork))
