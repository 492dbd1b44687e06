"""client_safetensors.py -- the safetensors library as a client: save, POST, load; and the file is the library's own, byte for byte."""
import json
import struct
import sys

try:
    import safetensors
    import safetensors.numpy
except ImportError:
    print("waived: safetensors is not installed (tests/run.sh puts it into .venv)")
    sys.exit(77)

from arrays import np, random_array, rng
from daemon import JSON, SAFETENSORS, Served, main

DTYPES = ["?", "i1", "u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8"]


class Safetensors(Served):
    def test_every_dtype(self):
        for dtype in DTYPES:
            for shape in ((5, 9), (1, 4), (100, 130), (2, 3, 4)):
                array = random_array(dtype, shape)
                with self.subTest(dtype=dtype, shape=shape):
                    answer = self.post(safetensors.numpy.save({"weight": array}, {"format": "pt"}), type=SAFETENSORS)
                    turned = np.ascontiguousarray(np.swapaxes(array, -1, -2))
                    self.assertEqual(answer, safetensors.numpy.save({"weight": turned}, {"format": "pt"}))

    def test_types_that_numpy_lacks(self):
        for kind, itemsize in (("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1)):
            array = random_array("u2" if itemsize == 2 else "u1", (6, 4))
            header = json.dumps({"w": {"dtype": kind, "shape": [6, 4], "data_offsets": [0, array.nbytes]}}).encode()
            with self.subTest(kind=kind):
                answer = self.post(struct.pack("<Q", len(header)) + header + array.tobytes(), type=SAFETENSORS)
                ((name, tensor),) = safetensors.deserialize(answer)
                self.assertEqual((name, tensor["dtype"], list(tensor["shape"])), ("w", kind, [4, 6]))
                self.assertEqual(bytes(tensor["data"]), array.T.tobytes())

    def test_one_of_several(self):
        arrays = {name: random_array("<f4", shape) for name, shape in {"a": (3, 4), "b": (5,), "c.weight": (2, 7)}.items()}
        body = safetensors.numpy.save(arrays)
        got = safetensors.numpy.load(self.post(body, "?tensor=c.weight"))
        self.assertEqual(list(got), ["c.weight"])
        self.assertEqual(got["c.weight"].tobytes(), arrays["c.weight"].T.tobytes())
        answer = self.daemon.post(body, type=SAFETENSORS)
        self.assertEqual((answer.status, answer.json()["code"]), (400, "bad-parameter"))
        for name in arrays:
            self.assertIn(name, answer.json()["detail"])

    def test_conversions(self):
        array = rng.standard_normal((4, 3)).astype("<f2")
        answer = self.daemon.post(safetensors.numpy.save({"h": array}), type=SAFETENSORS, accept=JSON)
        np.testing.assert_array_equal(np.array(answer.json(), "<f2"), array.T)
        back = self.post(answer.body, "?dtype=float16&tensor=h", type=JSON, accept=SAFETENSORS)
        self.assertEqual(back, safetensors.numpy.save({"h": array}))


if __name__ == "__main__":
    main()
