"""client_scipy.py -- scipy.io as a client: mmwrite, POST, mmread; the answer has to be a.T, to the last bit."""
import io
import sys

try:
    import scipy.io
except ImportError:
    print("waived: scipy is not installed (tests/run.sh puts it into .venv)")
    sys.exit(77)

from arrays import loaded, np, rng, saved
from daemon import JSON, MTX, NPY, Served, main


def written(array, **more):
    file = io.BytesIO()
    scipy.io.mmwrite(file, array, **more)
    return file.getvalue()


def read(body):
    return np.asarray(scipy.io.mmread(io.BytesIO(body)))


def some(dtype, shape):
    if dtype in ("<f8", "<c16"):
        return rng.standard_normal(shape).astype(dtype) * (1 if dtype == "<f8" else 1 - 2j)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


class Scipy(Served):
    def same(self, got, expected):
        self.assertEqual(got.shape, expected.shape)
        self.assertEqual(got.astype(expected.dtype).tobytes(), np.ascontiguousarray(expected).tobytes())

    def test_there_and_back(self):
        for dtype in ("<f8", "<c16", "<i8", "<i4", "<i2"):
            for shape in ((5, 9), (1, 4), (4, 1), (1, 1), (60, 33)):
                with self.subTest(dtype=dtype, shape=shape):
                    array = some(dtype, shape)
                    body = written(array, symmetry="general", precision=17, comment="of a test")
                    answer = self.post(body, type=MTX)
                    self.same(read(answer), read(body).T)
                    self.assertIn(b"of a test", answer)
                    self.same(loaded(self.post(body, type=MTX, accept=NPY)), read(body).T)

    def test_what_we_write(self):
        for dtype in ("<f8", "<f4", "<c16", "<i8", "<u4", "?", ">f8"):
            array = (some("<i2", (7, 11)) % 2).astype(dtype) if dtype == "?" else (some("<i4", (7, 11)).astype(dtype) if dtype != "<u4" else some("<u4", (7, 11)))
            if array.dtype.kind in "fc":
                array = (array / np.array(7, array.dtype)).astype(dtype)
            with self.subTest(dtype=dtype):
                self.same(read(self.post(saved(array), type=NPY, accept=MTX)), np.asarray(array, array.dtype.newbyteorder("<")).T)

    def test_non_finite(self):
        array = np.array([[np.nan, np.inf], [-np.inf, -0.0]])
        body = self.post(saved(array), type=NPY, accept=MTX)
        np.testing.assert_array_equal(read(body), array.T)
        self.assertTrue(body.endswith(b"\n-0.0\n"))  # scipy adds what it reads to 0

    def test_recognised_without_a_type(self):
        self.same(read(self.post(written(np.arange(6.0).reshape(2, 3), symmetry="general"))), np.arange(6.0).reshape(2, 3).T)

    def test_what_is_not_for_us(self):
        import scipy.sparse

        answer = self.daemon.post(written(scipy.sparse.eye(3)), type=MTX)
        self.assertEqual((answer.status, answer.json()["code"]), (422, "unsupported"))
        answer = self.daemon.post(written(np.eye(3), symmetry="symmetric"), type=MTX, accept=JSON)
        self.assertEqual((answer.status, answer.json()["code"]), (422, "unsupported"))


if __name__ == "__main__":
    main()
