"""The cache of frozen stages' outputs: right, and gone however the process ends."""

import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from calm_gui.errors import DataError
from calm_training.feature_cache import FeatureCache

_HOLDER = """
import sys, time
from pathlib import Path
import torch
from calm_training.feature_cache import FeatureCache
inputs = lambda numbers: torch.stack([torch.full((3, 8, 8), float(i)) for i in numbers])
with FeatureCache(torch.nn.Identity(), inputs, 40, Path(sys.argv[1]), batch=7):
    print("held", flush=True)
    time.sleep(60)
"""


def test_what_is_cached_comes_back(tmp_path):
    def inputs(numbers):
        return torch.stack([torch.full((3, 4, 4), float(i)) for i in numbers])

    with FeatureCache(torch.nn.Identity(), inputs, 40, tmp_path, batch=7) as cache:
        assert len(cache) == 40
        assert torch.equal(cache[np.array([39, 0, 7])], inputs([39, 0, 7]))
    with pytest.raises(DataError):
        FeatureCache(torch.nn.Identity(), inputs, 0, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_killed_process(tmp_path, number):
    (tmp_path / "features-old.npy").write_bytes(b"left by version 0.1")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        process.send_signal(number)
        process.wait(timeout=30)
    assert not list(tmp_path.iterdir())
