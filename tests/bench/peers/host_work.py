"""host_work.py -- what the peers on the CPU that are made with NumPy share: memory, check, copy and times by a monotonic clock."""
import platform
import time

import peer


class HostWork(peer.Work):
    device = "cpu"
    device_name = platform.processor() or platform.machine()
    reference = "numpy.copyto of the same bytes (memcpy, one thread), in turns with the transpose"

    def __init__(self):
        try:
            import numpy
        except ImportError as why:
            raise peer.Skip(f"NumPy is not installed: {why}") from why
        self.numpy = numpy
        self.types = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64, 16: numpy.complex128}
        self.release()

    def once(self):
        """One transpose of self.matrix into self.out."""
        raise NotImplementedError

    def prepare(self, cell):
        numpy = self.numpy
        self.cell = cell
        words = numpy.random.default_rng(cell.bytes).integers(0, 1 << 64, (cell.bytes + 7) // 8, numpy.uint64, endpoint=False)
        words = self.tamed(words)
        raw = words.view(numpy.uint8)[:cell.bytes].view(self.types[cell.itemsize])
        self.matrix = raw.reshape(cell.batch, cell.rows, cell.cols)
        self.out = numpy.empty((cell.batch, cell.cols, cell.rows), self.types[cell.itemsize])
        self.out.view(numpy.uint8).fill(0xa5)
        self.to = numpy.full_like(self.matrix, 1)

    def tamed(self, words):
        """The random words, or for a library that computes with them words that are finite numbers."""
        return words

    def bits(self, array):
        """Items of 16 bytes as pairs of integers: a NaN is unlike itself."""
        return array.view(self.numpy.uint64).reshape(*array.shape, 2) if self.cell.itemsize == 16 else array

    def is_right(self):
        self.once()
        found, wanted = self.bits(self.out), self.bits(self.matrix)
        return all(self.numpy.array_equal(found[:, at:at + 64], wanted[:, :, at:at + 64].swapaxes(1, 2))
                   for at in range(0, self.cell.cols, 64))

    def timed(self, work):
        begin = time.perf_counter()
        for _ in range(self.cell.burst):
            work()
        return (time.perf_counter() - begin) / self.cell.burst

    def transpose(self):
        return self.timed(self.once)

    def copy(self):
        return self.timed(lambda: self.numpy.copyto(self.to, self.matrix))

    def release(self):
        self.cell = self.matrix = self.out = self.to = None
