"""arrays.py -- numpy's arrays, and a daemon that is asked about them: what the clients that have numpy share."""
import io
import sys

try:
    import numpy as np
except ImportError:
    print("waived: numpy is not installed (tests/run.sh does that)")
    sys.exit(77)

from daemon import Served

rng = np.random.default_rng(7)


def saved(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def loaded(body):
    return np.load(io.BytesIO(body), allow_pickle=False)


def random_array(dtype, shape):
    """Bit patterns at random, but for bool."""
    if dtype == "?":
        return rng.integers(0, 2, shape).astype("?")
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(rng.bytes(count), dtype=np.uint8).view(dtype).reshape(shape) if count else np.zeros(shape, dtype)


class Arrays(Served):
    def same_bits(self, got, expected):
        self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype))
        self.assertEqual(got.tobytes(), np.ascontiguousarray(expected).tobytes())
