"""Give the loaders broken files: `python tools/fuzz.py --count 10000 --seed 0`.

Each input is a good file of some kind, changed at random, and goes through the loader that the program uses. Only our
own errors may come out, each within 10 s; the process may not grow by 2 GB, and may not end. The work is done in a
process of its own, so that a crash is counted and doesn't end the run. Equal seeds give equal inputs.

Long: a kind of broken file is a few lines, and the kinds share one way of changing and judging them.
"""

import argparse
import copy
import csv
import io
import json
import logging
import random
import resource
import shutil
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageCms

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import MOST_LETTERS, CalmError

MOST_SECONDS = 10.0
MOST_GROWTH = 2 * 2**30
"""Of the peak, in bytes: a damaged header may well ask for a large picture."""

WARM_UP = 40
"""Inputs of each kind."""

MOST_KEPT = 100 * 10**6
"""Bytes by which the process may be larger at the end than when it had met every kind some times."""
CLASSES = ClassTable(ClassInfo(i, name, f"n0000000{i}") for i, name in enumerate(("cat", "dog", "crane", "crane")))
Random = random.Random


# Good files


def _picture_seeds() -> list[bytes]:
    scene = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    rgb = Image.fromarray(scene)
    exif = Image.Exif()
    exif[0x0112] = 6
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    deep = Image.fromarray(scene[..., 0].astype(np.uint16) * 257)
    floats = Image.fromarray(scene[..., 0].astype(np.float32))
    frames: dict[str, Any] = {"save_all": True, "append_images": [rgb.rotate(90), rgb]}
    asked: list[tuple[Image.Image, str, dict[str, Any]]] = [
        (rgb, "PNG", {"exif": exif, "icc_profile": profile}),
        (rgb, "JPEG", {"exif": exif, "icc_profile": profile}),
        (rgb, "JPEG", {"progressive": True}),
        (rgb.convert("CMYK"), "JPEG", {}),
        (rgb.convert("P"), "GIF", {"transparency": 3}),
        (rgb, "GIF", frames),
        (rgb, "WEBP", frames),
        (rgb, "AVIF", {}),
        (rgb.convert("RGBA"), "PNG", {}),
        (deep, "PNG", {}),
        (deep, "TIFF", {"exif": exif}),
        (floats, "TIFF", {"compression": "tiff_lzw"}),
        (rgb, "TIFF", {"compression": "jpeg"}),
        (rgb, "BMP", {}),
        (rgb, "JPEG2000", {}),
        (rgb, "TGA", {}),
        (rgb, "PPM", {}),
        (rgb, "ICO", {}),
    ]
    return [_saved(image, kind, options) for image, kind, options in asked]


def _tiff_seeds() -> list[bytes]:
    """TIFFs of the layouts that Pillow and tifffile share between them."""
    import tifffile

    scene = np.random.default_rng(0).integers(0, 65536, (20, 24, 4), dtype=np.uint16)
    asked: list[tuple[Any, dict[str, Any]]] = [
        (scene[..., :3], {"photometric": "rgb"}),
        (np.moveaxis(scene[..., :3], -1, 0), {"photometric": "rgb", "planarconfig": "separate"}),
        (scene, {"photometric": "rgb", "extrasamples": ["unassalpha"], "compression": "zlib"}),
        (scene[..., 0], {"photometric": "miniswhite", "rowsperstrip": 5}),
        (scene[..., 0].astype(np.int16), {"photometric": "minisblack"}),
        (scene[..., 0].astype(np.float32), {"photometric": "minisblack"}),
        ((scene >> 8).astype(np.uint8)[..., :3], {"photometric": "rgb", "tile": (16, 16)}),
        (np.stack([scene[..., 0]] * 3), {"photometric": "minisblack"}),
    ]
    seeds = []
    for byteorder, bigtiff in (("<", False), (">", False), ("<", True)):
        for values, options in asked:
            file = io.BytesIO()
            with tifffile.TiffWriter(file, byteorder=byteorder, bigtiff=bigtiff) as writer:
                writer.write(values, **options)
            seeds.append(file.getvalue())
    return seeds


def _saved(image: Image.Image, kind: str, options: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _network() -> Any:
    import torch

    from calm_gui.model.checkpoint import CheckpointInfo, InputSpec, build_network

    torch.manual_seed(0)
    torch.set_num_threads(1)
    info = CheckpointInfo("calm-em", "timm:test_efficientnet", 32, CLASSES, input=InputSpec(size=64))
    return build_network(info), info


def _checkpoint_seeds() -> list[bytes]:
    from calm_gui.model.checkpoint import save_checkpoint

    network, info = _network()
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(Path(folder) / "x.safetensors", network, info)
        return [(Path(folder) / "x.safetensors").read_bytes()]


def _pickle_seeds() -> list[bytes]:
    import timm
    import torch

    torch.manual_seed(0)
    released = {"conv_last.weight": torch.zeros(4, 8, 1, 1), "attention.0.weight": torch.zeros(1, 8, 1, 1)}
    weights = {"module." + name: tensor for name, tensor in released.items()}
    more = {
        "args": argparse.Namespace(lr=0.1, names=["a", "b"]),
        "best": np.float64(0.5),
        "rng": np.arange(3),
        "epoch": 3,
    }
    classifier = timm.create_model("test_efficientnet", num_classes=4).half().state_dict()
    contents: list[dict[str, Any]] = [
        {"state_dict": weights, **more},
        {**released, "conv1.weight": torch.zeros(3).half()},
        {"arch": "test_efficientnet", "state_dict": classifier, **more},
    ]
    seeds = []
    for zipped in (True, False):
        for content in contents:
            file = io.BytesIO()
            torch.save(content, file, _use_new_zipfile_serialization=zipped)
            seeds.append(file.getvalue())
    return seeds


def _metadata_seeds() -> list[bytes]:
    info = _network()[1].to_json()
    info["hierarchy"] = _HIERARCHY
    return [json.dumps(info).encode()]


_HIERARCHY = {
    "nodes": {
        "all": {"name": "all", "parents": []},
        "animal": {"name": "animal", "parents": ["all"]},
        **{f"n0000000{i}": {"name": f"{i}", "parents": ["animal"], "class": i} for i in range(4)},
    }
}


def _hierarchy_seeds() -> list[bytes]:
    rows = "child,parent\n" + "".join(f"n0000000{i},animal\n" for i in range(4)) + "animal,all\n"
    return [json.dumps(_HIERARCHY).encode(), rows.encode(), rows.replace(",", "\t").encode("utf-8-sig")]


def _session_seeds() -> list[bytes]:
    from calm_gui.session.expression import Expression
    from calm_gui.session.pane import Pane
    from calm_gui.session.persistence import session_to_json
    from calm_gui.session.state import RegionShape, Selection, State

    base = Path(tempfile.gettempdir())
    picture = str(base / "a.png")
    state = State(
        Selection(str(base / "x.safetensors"), Expression.of("animal").excluding("n00000001")),
        (picture, str(base / "b.png")),
        0,
        panes=(Pane.of("attribution"), Pane.of("winner")),
        regions=(RegionShape("r", picture, "box", ((1, 2), (3, 4))),),
    )
    return [json.dumps(session_to_json(state, base, ("line",), "sentence")).encode()]


def _truth_seeds() -> list[bytes]:
    file = io.StringIO()
    csv.writer(file).writerows(
        [
            ["file", "wnid", "class_index", "boxes"],
            ["a.png", "n00000001", "1", "1 2 3 4;5 6 7 8"],
            ["b.png", "", "2", ""],
        ]
    )
    return [file.getvalue().encode(), b"file,class,x0,y0,x1,y1\na.png,cat,1,2,3,4\n"]


def _name_seeds() -> list[bytes]:
    return [
        b"cat\ndog\ncrane\ncrane\n",
        "Möwe\r\nBläßhuhn\r\n".encode("latin-1"),
        b'{"0": ["n00000000", "cat"], "1": ["n00000001", "dog"]}',
        b"index,name,wnid\n1,dog,n00000001\n0,cat,n00000000\n",
    ]


def _settings_seeds() -> list[bytes]:
    return [json.dumps({"theme": "dark", "recent pictures": ["a", "b"], "geometry": "AdnQyw=="}).encode()]


def _table_seeds() -> list[bytes]:
    """Tables of data sets: classes, boxes, masks."""
    return [
        b"file,class\na.png,cat\nb.png,dog\n",
        b"file,class_index,wnid\na.png,0,n00000000\nb.png,1,n00000001\n",
        b"file,class_index,width,height,boxes\na.png,0,32,24,1 2 30 20;4 5 6 7\n",
        b"file,mask,is_main,imagenet_classes\na.png,a.png,1,65 70-72\n",
    ]


def _recipe_seeds() -> list[bytes]:
    from calm_training.recipes import compose

    return [compose(name).to_toml().encode() for name in ("folder", "cub+resnet50+calm-em")]


def _manifest_seeds() -> list[bytes]:
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.model.picture import picture_from_array
    from calm_gui.render.arrays import save_map

    network, info = _network()
    model = LoadedModel(network, info, next(network.parameters()).device)
    shown = model.explain(picture_from_array(np.zeros((20, 30, 3), np.uint8))).attribution(0)
    with tempfile.TemporaryDirectory() as folder:
        save_map(shown, Path(folder) / "x.npz")
        return [(Path(folder) / "x.json").read_bytes()]


def _journal_seeds() -> list[bytes]:
    from calm_gui.session.picture_result import PictureResult

    result = PictureResult("a.png", "a", rows=({"file": "a.png", "p": 0.5},), sha256="0" * 64)
    lines = [_JOURNAL_HEADER, {"begin": "a.png", "files": ["a.npz"]}, {"result": result.to_json()}]
    return ["".join(json.dumps(line) + "\n" for line in lines).encode()]


_JOURNAL_HEADER: dict[str, Any] = {"batch": {"request": {}, "formats": ["npz"]}, "checkpoint": "0" * 64, "truth": ""}


# Loaders


def _load_picture(path: Path) -> None:
    from calm_gui.model.picture import load_picture

    load_picture(path)


def _load_checkpoint(path: Path) -> None:
    from calm_gui.model.answers import Answers
    from calm_gui.model.loaded import load_model
    from calm_gui.model.picture import picture_from_array

    model = load_model(path, "cpu", answers=Answers("calm-em", "relu", False, averaged=False))
    explanation = model.explain(picture_from_array(np.zeros((20, 30, 3), np.uint8)))
    explanation.top(1)


def _load_metadata(path: Path) -> None:
    """A safetensors file of good weights with this text as its metadata."""
    from safetensors.torch import save_file

    network, _ = _network()
    other = path.with_suffix(".safetensors")
    save_file(network.state_dict(), other, {"calm": path.read_bytes().decode("utf-8", "replace")})
    _load_checkpoint(other)


def _load_session(path: Path) -> None:
    from calm_gui.session.persistence import load_session

    load_session(path)


def _load_hierarchy(path: Path) -> None:
    from calm_gui.model.hierarchy_file import read_hierarchy

    read_hierarchy(path, CLASSES)


def _load_truth(path: Path) -> None:
    from calm_gui.session.truth import read_truth

    read_truth(path, CLASSES)


def _load_names(path: Path) -> None:
    from calm_gui.model.class_names import class_table, read_class_names

    class_table(read_class_names(path))


def _load_table(path: Path) -> None:
    from calm_training.datasets.boxes import read_boxes_csv
    from calm_training.datasets.csv_table import read_csv
    from calm_training.datasets.masks import read_masks_csv

    Image.new("RGB", (32, 24)).save(path.with_name("a.png"))
    refusals = 0
    for read in (read_boxes_csv, read_masks_csv, lambda table: read_csv(table.parent, table.stem)):
        try:
            read(path)
        except CalmError:
            refusals += 1
    if refusals == 3:
        raise CalmError("none of the readers takes it")


def _load_recipe(path: Path) -> None:
    from calm_training.recipes import load_config

    load_config(str(path), (), lambda _: None)


def _load_manifest(path: Path) -> None:
    from calm_gui.session.reproduce import reproduce

    reproduce(path, path.parent, _no_checkpoint)


def _no_checkpoint(name: str) -> Any:
    raise CalmError(f"there is no checkpoint {name}")


def _load_journal(path: Path) -> None:
    from calm_gui.session.batch_journal import BatchJournal

    BatchJournal(path, _JOURNAL_HEADER, {}, resume=True)


def _load_settings(path: Path) -> None:
    from calm_gui.qt.settings import Settings

    settings = Settings(path)
    settings.text("theme")
    settings.recent("pictures")


KINDS: dict[str, tuple[Callable[[], list[bytes]], Callable[[Path], None], str]] = {
    "picture": (_picture_seeds, _load_picture, ".png"),
    "tiff": (_tiff_seeds, _load_picture, ".tif"),
    "checkpoint": (_checkpoint_seeds, _load_checkpoint, ".safetensors"),
    "pickle": (_pickle_seeds, _load_checkpoint, ".pth.tar"),
    "metadata": (_metadata_seeds, _load_metadata, ".txt"),
    "session": (_session_seeds, _load_session, ".calm.json"),
    "hierarchy": (_hierarchy_seeds, _load_hierarchy, ".txt"),
    "truth": (_truth_seeds, _load_truth, ".csv"),
    "class names": (_name_seeds, _load_names, ".txt"),
    "settings": (_settings_seeds, _load_settings, ".json"),
    "table": (_table_seeds, _load_table, ".csv"),
    "recipe": (_recipe_seeds, _load_recipe, ".toml"),
    "manifest": (_manifest_seeds, _load_manifest, ".json"),
    "journal": (_journal_seeds, _load_journal, ".jsonl"),
}


@cache
def _seeds(kind: str) -> list[bytes]:
    return KINDS[kind][0]()


# Changes

_ODD: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, -(2**70), 1e308, float("nan"), float("inf"), "", "a\0b", "x" * 5000, "../..",
    "ñ漢\ud800", [], {}, [[]], [None], {"": ""}, "n00000001", "#0", "@predicted", "timm:vit_base_patch16_224", "relu",
]  # fmt: skip


def mutated(data: bytes, rng: Random) -> bytes:
    """A copy with one to eight changes."""
    if data.startswith(b"PK"):
        return _mutated_archive(data, rng)
    if data[:1] in b"{[" and data.count(b"\n{") == 0 and rng.random() < 0.7:
        return _mutated_json(data, rng)
    if data[:4] in (b"II*\0", b"MM\0*") and rng.random() < 0.7:
        return _mutated_tiff(data, rng)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        _change(changed, rng)
    return bytes(changed)


def _change(data: bytearray, rng: Random) -> None:
    # Headers are where it matters, so half of the changes are among the first bytes.
    end = min(len(data), 2048) if rng.random() < 0.5 else len(data)
    at = rng.randrange(end) if end else 0
    length = rng.choice((1, 2, 4, 8, 64, 1000))
    kind = rng.randrange(7)
    if kind == 0 and data:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[at : at + length] = rng.randbytes(length)
    elif kind == 2:
        del data[at : at + length]
    elif kind == 3:
        del data[at:]
    elif kind == 4:
        data[at:at] = data[at : at + length] * rng.choice((1, 3))
    elif kind == 5:
        width = rng.choice((1, 2, 4, 8))
        value = rng.choice((0, 1, 2**7, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1)) % 2 ** (8 * width)
        data[at : at + width] = value.to_bytes(width, rng.choice(("little", "big")))
    else:
        data[at:at] = bytes([rng.choice((0, 10, 13, 34, 44, 91, 123, 255))]) * rng.choice((1, 50))


def _mutated_tiff(data: bytes, rng: Random) -> bytes:
    """Change tags of the first directory: their number, kind, count or value."""
    order: Any = "little" if data.startswith(b"II") else "big"
    changed = bytearray(data)
    at = int.from_bytes(data[4:8], order)
    count = int.from_bytes(data[at : at + 2], order)
    for _ in range(rng.choice((1, 1, 2, 3))):
        entry = at + 2 + 12 * rng.randrange(max(1, count))
        offset, width = rng.choice(((0, 2), (2, 2), (4, 4), (8, 4), (8, 2)))
        odd = (
            0,
            1,
            2,
            3,
            4,
            5,
            6,
            8,
            16,
            32,
            64,
            254,
            255,
            258,
            262,
            277,
            284,
            330,
            339,
            32803,
            50706,
            2**15,
            2**16 - 1,
        )
        value = rng.choice((*odd, 2**31 - 1, 2**32 - 1, at, len(data))) % 2 ** (8 * width)
        changed[entry + offset : entry + offset + width] = value.to_bytes(width, order)
    return bytes(changed)


def _mutated_archive(data: bytes, rng: Random) -> bytes:
    """Change a member and pack it again, since a wrong checksum would hide the change; now and then the archive."""
    if rng.random() < 0.2:
        changed = bytearray(data)
        _change(changed, rng)
        return bytes(changed)
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            content = bytearray(old.read(name))
            if name.endswith("data.pkl") or rng.random() < 0.1:
                for _ in range(rng.choice((1, 1, 2, 4))):
                    _change(content, rng)
            new.writestr(zipfile.ZipInfo(name), bytes(content))  # not the time of day, so that a seed says all
    return file.getvalue()


def _mutated_json(data: bytes, rng: Random) -> bytes:
    content = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        _replace_somewhere(content, rng)
    text = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.02:
        text = "[" * 100_000 + text
    return text.encode("utf-8", "surrogatepass")


def _replace_somewhere(content: Any, rng: Random) -> None:
    while isinstance(content, (dict, list)) and content:
        key = rng.choice(list(content)) if isinstance(content, dict) else rng.randrange(len(content))
        if isinstance(content[key], (dict, list)) and content[key] and rng.random() < 0.75:
            content = content[key]
        elif isinstance(content, dict) and rng.random() < 0.3:
            del content[key]
            return
        else:
            content[key] = copy.deepcopy(rng.choice(_ODD))
            return


# The run


@dataclass
class Outcome:
    """What became of one input: "opened", "refused", or what went wrong."""

    kind: str
    verdict: str
    seconds: float
    memory: int
    resident: int = 0


def input_of(index: int, seed: int) -> tuple[str, bytes]:
    """Kind and bytes of an input."""
    rng = Random(f"{seed} {index}")
    kind = list(KINDS)[index % len(KINDS)]
    return kind, mutated(rng.choice(_seeds(kind)), rng)


def try_input(index: int, seed: int, folder: str) -> Outcome:
    """Load an input; an exception that isn't ours is in the verdict."""
    kind, data = input_of(index, seed)
    path = Path(folder) / f"input{KINDS[kind][2]}"
    path.write_bytes(data)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            KINDS[kind][1](path)
        verdict = "opened"
    except CalmError as error:
        verdict = "refused" if 0 < len(str(error)) <= MOST_LETTERS else f"refused in {len(str(error))} letters"
    except Exception as error:
        verdict = f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Outcome(kind, verdict, seconds, peak, _resident())


def _resident() -> int:
    """Bytes of memory in use now; 0 where the system doesn't tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


@dataclass
class Report:
    """Sums over a run."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0
    first_memory: int = 0
    most_memory: int = 0
    resident: list[int] = field(default_factory=list)

    def add(self, index: int, outcome: Outcome) -> None:
        """Take one outcome in."""
        fine = outcome.verdict in ("opened", "refused")
        self.counts[outcome.kind, outcome.verdict if fine else "FAULT"] += 1
        self.slowest = max(self.slowest, outcome.seconds)
        self.first_memory = self.first_memory or outcome.memory
        self.most_memory = max(self.most_memory, outcome.memory)
        self.resident.append(outcome.resident)
        if not fine or outcome.seconds > MOST_SECONDS:
            self.faults.append(f"input {index} ({outcome.kind}), {outcome.seconds:.1f} s: {outcome.verdict}")

    @property
    def growth(self) -> int:
        """Bytes by which the process grew after its first input."""
        return self.most_memory - self.first_memory

    @property
    def kept(self) -> int:
        """Bytes by which the process is larger over the last inputs than after its warm-up; the least of some."""
        warm = WARM_UP * len(KINDS)
        if len(self.resident) < 2 * warm or not all(self.resident):
            return 0
        return min(self.resident[-warm:]) - min(self.resident[warm : 2 * warm])


def run(indices: range, seed: int, progress: Callable[[str], None] = lambda _: None) -> Report:
    """Try inputs one after another in a process of their own."""
    report = Report()
    folder = tempfile.mkdtemp()
    pool = ProcessPoolExecutor(1, initializer=logging.disable)
    try:
        for index in indices:
            try:
                outcome = pool.submit(try_input, index, seed, folder).result(timeout=6 * MOST_SECONDS)
            except (TooSlow, BrokenProcessPool) as error:
                ended = "it hangs" if isinstance(error, TooSlow) else "the process ended"
                for process in list(pool._processes.values()):
                    process.kill()
                pool = ProcessPoolExecutor(1, initializer=logging.disable)
                outcome = Outcome(list(KINDS)[index % len(KINDS)], ended, 0.0, 0)
            report.add(index, outcome)
            if index % 500 == 499:
                progress(f"{index + 1} inputs, {len(report.faults)} faults")
    finally:
        pool.shutdown(cancel_futures=True)
        shutil.rmtree(folder, ignore_errors=True)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0, help="first input; one number tries that input again")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    report = run(range(options.start, options.start + options.count), options.seed, lambda t: print(t, file=sys.stderr))
    for kind in KINDS:
        parts = ", ".join(f"{n} {verdict}" for (k, verdict), n in sorted(report.counts.items()) if k == kind)
        print(f"{kind}: {parts}")
    print(
        f"{options.count} inputs in {time.perf_counter() - began:.0f} s, seed {options.seed}: {len(report.faults)} "
        f"faults, slowest {report.slowest:.1f} s, peak {report.growth / 1e6:.0f} MB over the first, "
        f"{report.kept / 1e6:.0f} MB kept after the warm-up"
    )
    for fault in report.faults[:40]:
        print(fault)
    return 1 if report.faults or report.growth > MOST_GROWTH or report.kept > MOST_KEPT else 0


if __name__ == "__main__":
    sys.exit(main())
