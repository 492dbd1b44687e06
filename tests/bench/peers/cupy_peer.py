#!/usr/bin/env python3
"""cupy_peer.py -- CuPy's copy of x.T on a GPU, as rows of `transposed bench`."""
import sys

import peer


class CupyWork(peer.Work):
    name = "cupy"
    device = "cuda:0"
    reference = "cudaMemcpyAsync device to device of the same bytes, in turns, CUDA events; small cells as CUDA graphs"

    def __init__(self):
        try:
            import cupy
        except ImportError as why:
            raise peer.Skip(f"CuPy is not installed: {why}") from why
        try:
            self.device_name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        except cupy.cuda.runtime.CUDARuntimeError as why:
            raise peer.Skip(f"CuPy is here and sees no GPU: {why}") from why
        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.begin, self.end = cupy.cuda.Event(), cupy.cuda.Event()
        self.scramble = cupy.ElementwiseKernel(
            "uint64 index", "uint64 z",
            "z = (index + 1) * 0x9e3779b97f4a7c15ull; z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull; z ^= z >> 31", "peer_scramble")
        self.types = {1: cupy.uint8, 2: cupy.uint16, 4: cupy.uint32, 8: cupy.uint64, 16: cupy.complex128}
        self.release()

    def prepare(self, cell):
        cupy = self.cupy
        if 4 * cell.bytes > cupy.cuda.runtime.memGetInfo()[0]:
            raise peer.Unsupported(f"{4 * cell.bytes} bytes of GPU memory are not free")
        self.cell = cell
        words = (cell.bytes + 7) // 8
        with self.stream:
            raw = self.scramble(cupy.arange(words, dtype=cupy.uint64))
            raw = raw.view(cupy.uint8)[:cell.bytes].view(self.types[cell.itemsize])
            self.matrix = raw.reshape(cell.batch, cell.rows, cell.cols)
            self.out = cupy.empty((cell.batch, cell.cols, cell.rows), self.types[cell.itemsize])
            self.to = cupy.empty_like(self.matrix)
            self.out.view(cupy.uint8).fill(0xa5)
            self.stream.synchronize()

    def transpose_once(self):
        self.cupy.copyto(self.out, self.matrix.transpose(0, 2, 1))

    def copy_once(self):
        self.cupy.cuda.runtime.memcpyAsync(self.to.data.ptr, self.matrix.data.ptr, self.cell.bytes,
                                           self.cupy.cuda.runtime.memcpyDeviceToDevice, self.stream.ptr)

    def bits(self, array):
        if self.cell.itemsize != 16:
            return array
        return array.view(self.cupy.uint64).reshape(*array.shape, 2)

    def is_right(self):
        with self.stream:
            self.transpose_once()
            found, wanted = self.bits(self.out), self.bits(self.matrix)
            good = bool((found == wanted.swapaxes(1, 2)).all())
            self.graphs = [self.captured(self.transpose_once), self.captured(self.copy_once)]
        return good

    def captured(self, work):
        """A burst as one launch, so that what is timed of a small matrix is not Python. None where one call is long enough, or
        where this version can't record it: then calls are launched one by one."""
        if self.cell.burst == 1:
            return None
        self.stream.synchronize()
        try:
            self.stream.begin_capture()
            for _ in range(self.cell.burst):
                work()
            return self.stream.end_capture()
        except RuntimeError as why:  # CuPy's own errors are of this kind
            print(f"{self.name} {self.cell}: no graph: {str(why)[:100]}", file=sys.stderr)
            self.stream = self.cupy.cuda.Stream(non_blocking=True)  # the other may be recording still
            return None

    def timed(self, graph, work):
        with self.stream:
            self.begin.record(self.stream)
            if graph is not None:
                graph.launch(self.stream)
            else:
                for _ in range(self.cell.burst):
                    work()
            self.end.record(self.stream)
            self.end.synchronize()
        return self.cupy.cuda.get_elapsed_time(self.begin, self.end) * 1e-3 / self.cell.burst

    def transpose(self):
        return self.timed(self.graphs[0], self.transpose_once)

    def copy(self):
        return self.timed(self.graphs[1], self.copy_once)

    def release(self):
        self.cell = self.matrix = self.out = self.to = None
        self.graphs = [None, None]
        self.cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    sys.exit(peer.main(CupyWork))
