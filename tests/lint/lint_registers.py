"""lint_registers.py -- registers.def has what the compiler says today, where the compiler is the one that wrote it."""
import os
import subprocess
import sys

from lint_tree import ROOT

sys.exit(subprocess.run([sys.executable, "-B", os.path.join(ROOT, "kernels/banks/measure_registers.py"), "--check"]).returncode)
