"""client_numpy.py -- numpy as a client: np.save, POST, np.load; the answer has to be a.T, bit for bit."""
import io
import os
import re

from arrays import Arrays, loaded, np, random_array, rng, saved
from daemon import JSON, NPY, RAW, ROOT, main

DTYPES = ["?", "i1", "u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8", "<c8", "<c16", ">f4", ">i8", ">f2", ">c16"]


class Numpy(Arrays):
    def there_and_back(self, array, **more):
        return loaded(self.post(saved(array), type=NPY, **more))

    def test_every_dtype(self):
        for dtype in DTYPES:
            for shape in ((5, 9), (1, 4), (4, 1), (0, 3), (3, 0), (100, 130)):
                array = random_array(dtype, shape)
                with self.subTest(dtype=dtype, shape=shape):
                    self.same_bits(self.there_and_back(array), array.T)

    def test_fortran_order(self):
        for dtype in ("<f4", ">f4", "<c16", "i1"):
            array = np.asfortranarray(random_array(dtype, (37, 21)))
            self.same_bits(self.there_and_back(array), array.T)

    def test_batches(self):
        for dtype in ("<f4", ">i8", "u1"):
            array = random_array(dtype, (4, 17, 23))
            self.same_bits(self.there_and_back(array), array.transpose(0, 2, 1))

    def test_strides_and_views(self):
        base = random_array("<f8", (40, 60))
        for view in (base[::2, ::3], base[::-1], base.T):
            self.same_bits(self.there_and_back(view), view.T)

    def test_large(self):
        array = random_array("<f4", (1500, 2100))
        self.same_bits(self.there_and_back(array), array.T)

    def test_to_and_from_json(self):
        array = rng.standard_normal((7, 11)).astype("<f8")
        answer = self.daemon.post(saved(array), type=NPY, accept=JSON)
        self.same_bits(np.array(answer.json(), dtype="<f8"), array.T)
        array = rng.standard_normal((7, 11)).astype("<f4")
        answer = self.daemon.post(saved(array), type=NPY, accept=JSON)
        back = self.daemon.post(answer.body, "?dtype=float32", JSON, accept=NPY)
        self.same_bits(loaded(back.body), array)

    def test_raw_out(self):
        array = random_array("<u2", (33, 65))
        answer = self.daemon.post(saved(array), type=NPY, accept=RAW)
        self.same_bits(np.frombuffer(answer.body, "<u2").reshape(65, 33), array.T)

    def test_the_readme_example(self):
        with open(os.path.join(ROOT, "README.md")) as file:
            example = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
        seen = {}
        exec(example.replace("127.0.0.1:7070", self.daemon.listen), seen)
        self.same_bits(seen["transposed"], np.load(io.BytesIO(seen["body"].getvalue())).T)

    def test_what_is_not_for_us(self):
        record = np.zeros((2, 2), dtype=[("a", "<i4"), ("b", "<f8")])
        answer = self.daemon.post(saved(record), type=NPY)
        self.assertIn(answer.status, (400, 422))
        self.assertEqual(answer.json()["status"], answer.status)
        for shape in ((3,), (2, 2, 2, 2), ()):
            answer = self.daemon.post(saved(np.zeros(shape, "<f4")), type=NPY)
            self.assertIn(answer.status, (400, 422), shape)


if __name__ == "__main__":
    main()
