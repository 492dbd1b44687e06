"""torch_work.py -- what the two peers made with PyTorch share: memory, check, copy and times by events, small cells as a CUDA graph."""
import sys

import peer


class TorchWork(peer.Work):
    device = "cuda:0"

    def __init__(self):
        try:
            import torch
        except ImportError as why:
            raise peer.Skip(f"PyTorch is not installed: {why}") from why
        if not torch.cuda.is_available():
            raise peer.Skip("PyTorch is here and sees no GPU")
        self.torch = torch
        self.device_name = torch.cuda.get_device_name(0)
        self.types = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}
        self.begin, self.end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.release()

    def function(self):
        """x -> its transpose, in new memory."""
        raise NotImplementedError

    def prepare(self, cell):
        torch = self.torch
        if 4 * cell.bytes > torch.cuda.mem_get_info(0)[0]:
            raise peer.Unsupported(f"{4 * cell.bytes} bytes of GPU memory are not free")
        self.cell = cell
        shape = (cell.batch, cell.rows, cell.cols) if cell.batch != 1 else (cell.rows, cell.cols)
        raw = torch.empty(cell.bytes, dtype=torch.uint8, device="cuda:0").random_(0, 256)
        self.matrix = raw.view(self.types[cell.itemsize]).view(shape)
        self.to = torch.empty_like(self.matrix)
        self.work = self.function()

    def bits(self, tensor):
        """Items of 16 bytes as pairs of integers: a NaN is unlike itself."""
        return self.torch.view_as_real(tensor).view(self.torch.int64) if self.cell.itemsize == 16 else tensor

    def is_right(self):
        out = self.work(self.matrix)
        if not out.is_contiguous() or out.data_ptr() == self.matrix.data_ptr():
            return False
        found, wanted = self.bits(out), self.bits(self.matrix)
        first = 1 if self.cell.batch != 1 else 0
        good = self.torch.equal(found, wanted.transpose(first, first + 1))
        self.graphs = [self.captured(lambda: self.work(self.matrix)), self.captured(lambda: self.to.copy_(self.matrix))]
        return good

    def captured(self, work):
        """A burst as one replay, so that what is timed of a small matrix is not Python. None where one call is long enough, or
        where this version can't record it: then calls are launched one by one."""
        if self.cell.burst == 1:
            return None
        torch, graph = self.torch, self.torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            with torch.cuda.graph(graph):
                for _ in range(self.cell.burst):
                    work()
        except RuntimeError as why:
            print(f"{self.name} {self.cell}: no graph: {str(why)[:100]}", file=sys.stderr)
            return None
        return graph

    def timed(self, graph, work):
        self.begin.record()
        if graph is not None:
            graph.replay()
        else:
            for _ in range(self.cell.burst):
                work()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) * 1e-3 / self.cell.burst

    def transpose(self):
        return self.timed(self.graphs[0], lambda: self.work(self.matrix))

    def copy(self):
        return self.timed(self.graphs[1], lambda: self.to.copy_(self.matrix))

    def release(self):
        self.cell = self.matrix = self.to = self.work = None
        self.graphs = [None, None]
        self.torch.cuda.empty_cache()
