#!/usr/bin/env python3
"""pytorch.py -- PyTorch's .t().contiguous() on a GPU, as rows of `transposed bench`; with --compiled first, torch.compile of it.

    pytorch.py [--compiled] [OPTIONS of peer.py]
"""
import sys

import peer
from torch_work import TorchWork


class Eager(TorchWork):
    name = "pytorch"
    reference = "Tensor.copy_ of the same bytes (cudaMemcpyAsync device to device), in turns, CUDA events; small cells as CUDA graphs"

    def function(self):
        if self.cell.batch != 1:
            return lambda x: x.transpose(1, 2).contiguous()
        return lambda x: x.t().contiguous()


class Compiled(TorchWork):
    name = "torch.compile"
    reference = Eager.reference

    def function(self):
        self.torch._dynamo.reset()  # each shape is compiled for itself, never as one that may vary
        form = self.torch.contiguous_format
        if self.cell.batch != 1:
            return self.torch.compile(lambda x: x.transpose(1, 2).clone(memory_format=form), dynamic=False)
        return self.torch.compile(lambda x: x.t().clone(memory_format=form), dynamic=False)


if __name__ == "__main__":
    compiled = sys.argv[1:2] == ["--compiled"]
    if compiled:
        del sys.argv[1]
    sys.exit(peer.main(Compiled if compiled else Eager))
