"""Run all measurements, print a table, write JSON."""

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.timing import Row, yardstick

GROUPS = ("window", "scaled", "large", "model", "peers", "start", "training", "methods", "batch")


def rows_of(group: str) -> list[Row]:
    """Measure one group."""
    if group == "window":
        from benchmarks.window import window_rows

        return window_rows()
    if group == "scaled":
        code = "from benchmarks.window import scaled_click; print(scaled_click())"
        environment = {**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        return [Row("click to pixels, one pane at 200 %, median", float(ran.stdout.split()[-1]), "ms", 20)]
    if group == "large":
        from benchmarks.window import large_rows

        return large_rows()
    if group == "model":
        from benchmarks.model import model_rows

        return model_rows()
    if group == "peers":
        from benchmarks.model import peer_rows

        return peer_rows()
    if group == "batch":
        from benchmarks.batch import batch_rows

        return batch_rows()
    if group == "training":
        from benchmarks.training import training_rows

        return training_rows()
    if group == "methods":
        from benchmarks.wsol_methods import method_rows

        return method_rows()
    from benchmarks.start import start_rows

    return start_rows()


def main() -> int:
    """Print the table; 1 if a figure isn't reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help="what to measure; all by default")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    stick = yardstick()
    print(f"yardstick (1,000 matrix products of 40 x 40): {stick:.2f} ms")
    found = []
    for group in options.groups or GROUPS:
        for row in rows_of(group):
            found.append(row)
            sign = "<=" if row.at_most else ">="
            mark = "ok  " if row.reached else "MISS"
            print(f"{mark} {row.what:58s} {row.value:10.2f} {row.unit:6s} {sign} {row.limit:g}  {row.note}", flush=True)
    if options.json:
        data = {
            "machine": platform.processor() or platform.machine(),
            "yardstick_ms": stick,
            "rows": [asdict(row) for row in found],
        }
        options.json.write_text(json.dumps(data, indent=1), "utf-8")
    return 0 if all(row.reached for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
