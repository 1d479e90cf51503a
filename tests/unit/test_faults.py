"""Faults around the program: full disks, killed writers, no display, other toolkits, broken maps."""

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import sample_pictures
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import CalmError, DataError, ExportError, SessionError
from calm_gui.model.checkpoint import fitted_network, read_checkpoint, save_checkpoint
from calm_gui.model.files import atomic_path, read_bounded, write_bytes
from calm_gui.model.formats.file_content import read_foreign
from calm_gui.model.hierarchy_file import write_hierarchy
from calm_gui.model.loaded import load_model
from calm_gui.model.picture import load_picture
from calm_gui.render import PRESENTER
from calm_gui.render.colormap import SEQUENTIAL
from calm_gui.render.overlay import overlay_picture
from calm_gui.render.scale import Scale, remark
from calm_gui.session.annotation import Annotation
from calm_gui.session.expression import Expression
from calm_gui.session.persistence import load_session, save_session
from calm_gui.session.state import Selection, State
from calm_training.recipes import load_config
from calm_training.run_folder import RunFolder


@contextmanager
def small_disk() -> Iterator[None]:
    """The system itself refuses to write more than a kilobyte into a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("ck") / "tiny.safetensors")


def writers(tiny: Path) -> dict[str, Callable[[Path], object]]:
    """Everything that writes a file of more than a kilobyte."""
    info, tensors = read_checkpoint(tiny)
    network = fitted_network(info, tensors, "tiny")
    explanation = load_model(tiny, "cpu", PRESENTER).explain(sample_pictures()[0])
    saliency = explanation.saliency()
    state = State(Selection("x", Expression.of("a")), tuple(f"/nowhere/{i}.png" for i in range(200)))
    shapes = {f"n{i}": {"name": "n", "parents": ["all"], "class": i} for i in range(99)}
    many = Hierarchy({"all": {"name": "all", "parents": []}, **shapes}, 99)
    return {
        "checkpoint": lambda path: save_checkpoint(path, network, info, overwrite=True),
        "session": lambda path: save_session(path, state),
        "hierarchy": lambda path: write_hierarchy(path, many),
        "map": lambda path: saliency.save(path.with_suffix(".npz")),
        "figure": lambda path: explanation.figure(saliency).savefig(path.with_suffix(".pdf")),
        "bytes": lambda path: write_bytes(path, b"x" * 2000, overwrite=True),
    }


KINDS = ("checkpoint", "session", "hierarchy", "map", "figure", "bytes")


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_said_and_leaves_everything_as_it_was(tiny: Path, tmp_path: Path, kind: str) -> None:
    write = writers(tiny)[kind]
    write(tmp_path / "x.safetensors")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with small_disk(), pytest.raises(ExportError, match=r"can't be written: .*arge") as fault:
        write(tmp_path / "x.safetensors")
    assert str(tmp_path) in str(fault.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this system mounts nothing")
    try:
        write_bytes(tmp_path / "x", b"good")
        with pytest.raises(ExportError, match="No space left on device"):
            write_bytes(tmp_path / "x", b"y" * 100_000, overwrite=True)
        assert [path.name for path in tmp_path.iterdir()] == ["x"] and (tmp_path / "x").read_bytes() == b"good"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_vanished_is_said(tiny: Path, tmp_path: Path, kind: str) -> None:
    with pytest.raises(ExportError, match=r"No such file|no folder"):
        writers(tiny)[kind](tmp_path / "gone" / "x.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "reason"), [("a/b/x", "No such file"), ("x" * 300, "too long"), ("folder", "is a folder")]
)
def test_names_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ExportError, match=reason):
        write_bytes(tmp_path / name, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("calm_gui.model.files.tempfile.mkstemp", refuse)
    with pytest.raises(ExportError, match="Permission denied"):
        write_bytes(tmp_path / "x", b"x")


_SLOW_WRITER = """
import sys, time
from pathlib import Path
from calm_gui.model.files import atomic_path
with atomic_path(sys.argv[1], overwrite=True) as temporary:
    temporary.write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_killed_while_saving_the_old_file_stays_and_the_rest_goes_at_the_next_write(tmp_path: Path) -> None:
    write_bytes(tmp_path / "x.json", b"good")
    writer = subprocess.Popen(
        [sys.executable, "-c", _SLOW_WRITER, str(tmp_path / "x.json")], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
    going_on = subprocess.run([sys.executable, "-c", _WRITE_ONCE, str(tmp_path / "y.json")], check=True)
    assert going_on.returncode == 0 and len(list(tmp_path.glob(".calm-*"))) == 1  # a living writer is left alone
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert (tmp_path / "x.json").read_bytes() == b"good"
    subprocess.run([sys.executable, "-c", _WRITE_ONCE, str(tmp_path / "y.json")], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.json", "y.json"]


_WRITE_ONCE = "import sys; from calm_gui.model.files import write_bytes; write_bytes(sys.argv[1], b'y', overwrite=True)"


def test_an_exception_while_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), atomic_path(tmp_path / "x"):
        1 / 0  # noqa: B018
    assert not list(tmp_path.iterdir())


# Reading


def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        began = time.perf_counter()
        with pytest.raises(DataError, match="device or a pipe"):
            read_bounded(path, 10, DataError)
        assert time.perf_counter() - began < 1
    with pytest.raises(DataError, match="over 0 MB are refused"):
        (tmp_path / "long").write_bytes(b"x" * 11)
        read_bounded(tmp_path / "long", 10, DataError)


def resume(path: Path) -> None:
    path.rename(path.with_name("config.json"))
    RunFolder(path.parent, load_config("cub+resnet50+calm-em"), resume=True)


def annotate(path: Path) -> None:
    Annotation.load(path, Hierarchy({"a": {"name": "a"}, "b": {"name": "b", "parents": ["a"], "class": 0}}, 1))


@pytest.mark.parametrize("read", [load_session, annotate, resume])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", r"it isn't JSON \(line 1, column 1\)"),
        (b'{"marks": {},\n "data": oh}', r"it isn't JSON \(line 2, column 10\)"),
        (b"\x80\x02}q\x00.", "it isn't text"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"calm_session": 1}', "'(pictures|marks|data)' is missing"),
        (b'{"calm_session": 1, "pictures": 5, "marks": 7, "data": 5}', "wrong kind|must be hom or het"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_without_names_of_python(
    tmp_path: Path, read: Callable[[Path], object], content: bytes, reason: str
) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(CalmError, match=reason) as fault:
        read(tmp_path / "x.json")
    assert not _NAMES_OF_PYTHON.search(str(fault.value))


_NAMES_OF_PYTHON = re.compile(r"\w(Error|Exception)\b|\bNone|^\w+\(")


@pytest.mark.parametrize("error", [EOFError(), AssertionError()])
def test_a_decoder_that_fails_without_a_word_is_no_riddle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    for place in ("PIL.Image.open", "torch.load", "calm_gui.model.formats.file_content.load_safetensors"):
        monkeypatch.setattr(place, fail)
    run = RunFolder(tmp_path / "run", load_config("cub+resnet50+calm-em"))
    run.begin()
    (tmp_path / "x.png").write_bytes(b"x")
    (tmp_path / "x.pth").write_bytes(b"\x80\x02")
    (tmp_path / "x.safetensors").write_bytes(b"x")
    (tmp_path / "run" / "state.pt").write_bytes(b"x")
    reads: list[tuple[Callable[[], object], str]] = [
        (lambda: load_picture(tmp_path / "x.png"), "x.png is damaged or incomplete"),
        (lambda: read_foreign(tmp_path / "x.pth"), "is incomplete or damaged; download or copy it again"),
        (lambda: read_foreign(tmp_path / "x.safetensors"), "is incomplete or damaged; download or copy it again"),
        (run.load_state, "it is damaged or isn't this program's; continue from a copy of it, or start again"),
    ]
    for read, words in reads:
        with pytest.raises(CalmError, match=words) as fault:
            read()
        assert not _NAMES_OF_PYTHON.search(str(fault.value))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_session_with_numbers_that_are_none(tmp_path: Path, number: str) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    save_session(tmp_path / "x.calm.json", State(Selection("x"), (str(tmp_path / "a.png"),)))
    text = (tmp_path / "x.calm.json").read_text()
    region = f'{{"name": "r", "picture": "a.png", "kind": "box", "points": [[0, 0], [{number}, 1]], "radius": 0}}'
    (tmp_path / "x.calm.json").write_text(text.replace('"regions": []', f'"regions": [{region}]'))
    with pytest.raises(SessionError, match="invalid value"):
        load_session(tmp_path / "x.calm.json")


# Maps that are no answer


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("map_all_zero", "no variation"),
        ("map_constant", "no variation"),
        ("map_one_nan", "1 of .* not finite"),
        ("map_one_inf", "1 of .* not finite"),
        ("map_all_negative", ""),
        ("map_tiny_values_1e-12", ""),
        ("map_single_cell_top_left", ""),
    ],
)
def test_odd_maps_are_remarked_on_and_drawn_without_a_warning(shared: Path, name: str, said: str) -> None:
    values = np.load(shared / "inputs" / "maps" / f"{name}.npy", allow_pickle=False)
    assert bool(re.search(said, remark(values))) and bool(remark(values)) == bool(said)
    finite = values[np.isfinite(values)]
    scale = Scale(float(finite.min()), float(finite.max()))
    steps = scale.indices(values.astype(np.float32))
    assert steps.shape == values.shape
    if name == "map_single_cell_top_left":
        assert steps[0, 0] == 255 and steps.sum() == 255
    if said == "no variation":
        assert not steps.any()


# Where there is no screen, or another toolkit


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    return {**kept, "HOME": str(home), **more}


def test_without_a_display_one_sentence(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "calm_gui"], env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr.count("\n") == 1 and "there is no display" in ran.stderr


@pytest.mark.parametrize("module", ["calm_gui", "calm_gui.cli", "calm_training.cli", "calm_training.evaluate"])
def test_help_needs_no_display(tmp_path: Path, module: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", module, "--help"], env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0 and "usage" in ran.stdout and not ran.stderr


def test_the_commands_load_no_qt(tmp_path: Path, tiny: Path) -> None:
    code = (
        "import sys\n"
        "from calm_gui.cli import main\n"
        f"status = main([{str(sample_pictures()[0])!r}, '--checkpoint', {str(tiny)!r}, '--quiet'])\n"
        "import calm_training.cli, calm_training.evaluate, calm_training.loop\n"
        "print(status, [m for m in sys.modules if m.startswith(('PySide', 'PyQt', 'cv2'))])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, timeout=120
    )
    assert ran.stdout.splitlines()[-1] == "0 []", ran.stderr


@pytest.mark.slow
def test_opencv_and_other_bindings_beside_us_are_never_imported(tmp_path: Path) -> None:
    for name in ("cv2", "PyQt5", "PyQt6", "PySide2"):
        (tmp_path / "rivals" / name).mkdir(parents=True)
        (tmp_path / "rivals" / name / "__init__.py").write_text("raise SystemExit('imported')")
    shot = tmp_path / "shot.png"
    ran = subprocess.run(
        [sys.executable, "-m", "calm_gui", "--device", "cpu", "--screenshot", str(shot)],
        env=environment(tmp_path, PYTHONPATH=str(tmp_path / "rivals"), QT_QPA_PLATFORM="offscreen"),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "") and shot.stat().st_size > 10_000


def test_an_overlay_needs_a_finite_scale_only(tiny: Path) -> None:
    explanation = load_model(tiny, "cpu").explain(sample_pictures()[0])
    saliency = explanation.saliency()
    drawn = overlay_picture(explanation.picture, saliency, Scale(0.0, 1.0), next(iter(SEQUENTIAL)), 1.0)
    assert drawn.shape == explanation.picture.shape and drawn.dtype == np.uint8


def test_messages_with_endless_names_stay_readable() -> None:
    text = str(CalmError(f"the file {'x' * 100_000} isn't a picture; choose another"))
    assert len(text) <= 2000 and text.startswith("the file x") and text.endswith("choose another")
    assert str(CalmError("short")) == "short"
