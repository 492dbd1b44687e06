#!/usr/bin/env python3
"""numpy_peer.py -- NumPy's copy of x.T, as rows of `transposed bench`. It works on one thread, whatever it is given."""
import sys

import peer
from host_work import HostWork


class NumpyWork(HostWork):
    name = "numpy"

    def once(self):
        self.numpy.copyto(self.out, self.matrix.transpose(0, 2, 1))


if __name__ == "__main__":
    sys.exit(peer.main(NumpyWork))
