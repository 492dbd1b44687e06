#!/usr/bin/env python3
"""hptt_peer.py -- HPTT's tensor transpose, as rows of `transposed bench`; by its C interface, in libhptt.so or TRANSPOSED_HPTT.

It computes with items, so that data are finite numbers; items of 4, 8 and 16 bytes go as float, double and complex double. Each
call makes its plan anew, as the C interface has it.
"""
import ctypes
import os
import sys

import peer
from host_work import HostWork


class HpttWork(HostWork):
    name = "hptt"
    itemsizes = (4, 8, 16)

    def __init__(self):
        super().__init__()
        path = os.environ.get("TRANSPOSED_HPTT", "libhptt.so")
        try:
            library = ctypes.CDLL(path)
            self.calls = {4: (library.sTensorTranspose, ctypes.c_float), 8: (library.dTensorTranspose, ctypes.c_double),
                          16: (library.zTensorTranspose, None)}
        except (OSError, AttributeError) as why:
            raise peer.Skip(f"HPTT is not found (TRANSPOSED_HPTT may name it): {why}") from why

    def tamed(self, words):
        numpy = self.numpy
        return (words & numpy.uint64(0xbfffffffbfffffff)) | numpy.uint64(0x2000000020000000)

    def prepare(self, cell):
        super().prepare(cell)
        call, real = self.calls[cell.itemsize]
        count = 3 if cell.batch != 1 else 2
        numbers = ctypes.c_int * count
        perm = numbers(*((0, 2, 1) if count == 3 else (1, 0)))
        size = numbers(*((cell.batch, cell.rows, cell.cols) if count == 3 else (cell.rows, cell.cols)))
        source, target = ctypes.c_void_p(self.matrix.ctypes.data), ctypes.c_void_p(self.out.ctypes.data)
        threads = cell.threads or 1
        if real is None:
            class Complex(ctypes.Structure):
                _fields_ = [("real", ctypes.c_double), ("imaginary", ctypes.c_double)]
            one, zero, extra = Complex(1, 0), Complex(0, 0), (ctypes.c_bool(False),)
        else:
            one, zero, extra = real(1), real(0), ()
        call.restype = None
        head = (perm, ctypes.c_int(count), one) + extra  # of complex items: whether to conjugate
        self.once = lambda: call(*head, source, size, None, zero, target, None, ctypes.c_int(threads), ctypes.c_int(1))


if __name__ == "__main__":
    sys.exit(peer.main(HpttWork))
