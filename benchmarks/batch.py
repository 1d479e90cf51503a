"""A batch of 1,000 pictures against a bare loop that decodes and runs the same network."""

import os
import time
from itertools import islice
from pathlib import Path

from benchmarks.timing import Row

__all__ = ["batch_rows"]

PICTURES = 1000
SLICE = 100


def batch_rows() -> list[Row]:
    """Pictures per second of `run_batch` over those of the bare loop, in turns of 100; growth of resident memory."""
    import tempfile

    import numpy as np
    import torch
    from PIL import Image

    import calm_gui
    from calm_gui.session.batch import BatchPlan, run_batch
    from calm_gui.session.request import Request

    folder = Path(os.environ.get("CALM_SHARED", "../shared")) / "data" / "imagenet-val-boxes"
    paths = sorted(str(path) for path in folder.rglob("*.JPEG"))[: PICTURES + SLICE]
    if len(paths) < PICTURES + SLICE:
        raise SystemExit(f"the batch needs {PICTURES + SLICE} pictures under {folder}; set CALM_SHARED")
    model = calm_gui.load_checkpoint("demo", device="cpu")
    size = model.info.input.size
    mean, std = np.array(model.info.input.mean, np.float32), np.array(model.info.input.std, np.float32)

    def bare(path: str) -> None:
        with Image.open(path) as file:
            image = file.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
        pixels = (np.asarray(image, np.float32) / 255 - mean) / std
        tensor = torch.from_numpy(pixels).permute(2, 0, 1)[None].contiguous(memory_format=torch.channels_last)
        with torch.inference_mode():
            model.network(tensor)

    seconds = {"bare": 0.0, "batch": 0.0}
    memory = []
    with tempfile.TemporaryDirectory() as out:
        stream = run_batch(model, paths, BatchPlan(Request()), out)
        for start in range(0, PICTURES + SLICE, SLICE):
            before = time.perf_counter()
            for path in paths[start : start + SLICE]:
                bare(path)
            between = time.perf_counter()
            results = list(islice(stream, SLICE))
            after = time.perf_counter()
            assert len(results) == SLICE and not any(result.error for result in results)
            memory.append(_resident())
            if start:  # the first turn warms up
                seconds["bare"] += between - before
                seconds["batch"] += after - between
    speeds = {name: PICTURES / spent for name, spent in seconds.items()}
    note = f"{speeds['batch']:.1f} against {speeds['bare']:.1f} pictures a second, {torch.get_num_threads()} threads"
    return [
        Row(
            "batch of 1,000 over a bare decode and forward loop",
            speeds["batch"] / speeds["bare"],
            "times",
            0.9,
            False,
            note,
        ),
        Row("growth of memory over the batch", (memory[-1] - memory[0]) / 2**20, "MiB", 30),
    ]


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
