"""Programs that train keep the memory that a step frees."""

import os
import subprocess
import sys

import pytest

MEASURED = """
import resource, sys
import torch
from calm_training.memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
network = torch.nn.Sequential(*[torch.nn.Conv2d(3 if i == 0 else 16, 16, 3, padding=1) for i in range(6)])
pictures = torch.rand(8, 3, 200, 200)  # 20 MB each layer
for step in range(6):
    if step == 3:
        before = faults()
    torch.autograd.backward(network(pictures).mean())
print((faults() - before) / 3)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone has the thresholds")
def test_a_steps_memory_is_mapped_once() -> None:
    def faults_of_a_step(how: str) -> float:
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
        start = [sys.executable, "-c", MEASURED, how]
        done = subprocess.run(start, env=one_thread, capture_output=True, text=True, check=True)
        return float(done.stdout)

    assert 5 * faults_of_a_step("keep") < faults_of_a_step("as it is")
