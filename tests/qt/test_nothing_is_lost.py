"""Work that a person did is never lost unasked: files, keys, sessions, regions, named sets, batches.

Long: one file for every way to lose work, so that a missing one is seen.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.model import answers as answers_module
from calm_gui.model.answers import Answers
from calm_gui.qt.autosave import Autosave, ended_sessions
from calm_gui.qt.dialogs.annotation_dialog import AnnotationDialog
from calm_gui.qt.dialogs.keys_dialog import KeysDialog
from calm_gui.qt.dialogs.left_over_dialog import LeftOverDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.jobs import Job
from calm_gui.session.named_sets import keep_named_sets, read_named_sets
from calm_gui.session.persistence import load_session
from calm_gui.session.workspace import Workspace

DEMO = str(Path(bundled_checkpoints()["demo"]).absolute())
NO = QMessageBox.StandardButton.No
YES = QMessageBox.StandardButton.Yes


class NoRunner:
    """Computes nothing."""

    def submit(self, job: Job) -> None: ...

    def cancel(self, token: object) -> None: ...

    def close(self) -> None: ...


def workspace() -> Workspace:
    return Workspace(DEMO, NoRunner(), lambda *_: None)  # type: ignore[arg-type,return-value]


def a_region(name_of: Workspace) -> None:
    name_of.add_region("box", ((1.0, 2.0), (30.0, 40.0)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Questions that were asked; each is answered No."""
    questions: list[str] = []

    def question(_parent: object, _title: str, text: str, *_: object) -> QMessageBox.StandardButton:
        questions.append(text)
        return NO

    monkeypatch.setattr(QMessageBox, "question", question)
    yield questions


# Files (L1)


@pytest.mark.parametrize(
    ("command", "typed", "there"),
    [
        ("save_session", "work", "work.calm.json"),
        ("export_numbers", "map", "map.npz"),
        ("save_hierarchy", "tree", "tree.json"),
    ],
)
def test_a_name_typed_without_ending_replaces_no_file_unasked(
    window: MainWindow,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    typed: str,
    there: str,
) -> None:
    (tmp_path / there).write_bytes(b"a week's work")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(tmp_path / typed), ""))
    getattr(window.files, command)()
    assert (tmp_path / there).read_bytes() == b"a week's work"
    assert asked == [f"{there} already exists. Replace it?"]
    assert not (tmp_path / typed).exists()


def test_a_figure_typed_without_ending_replaces_no_file_unasked(
    window: MainWindow, asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from calm_gui.qt.dialogs.export_dialog import ExportDialog

    (tmp_path / "fig.png").write_bytes(b"a week's work")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(tmp_path / "fig"), ""))
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.ask_and_save()
    dialog.deleteLater()
    assert (tmp_path / "fig.png").read_bytes() == b"a week's work"
    assert asked == ["fig.png already exists. Replace it?"]


# Keys (L2) and marks


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_in_the_keys_leaves_them_as_they_are(
    window: MainWindow, asked: list[str], qtbot: QtBot, key: Qt.Key
) -> None:
    settings = Settings(None)
    settings.set("shortcut swap", "Ctrl+Alt+X")
    dialog = KeysDialog(window.actions_by_name, settings, window)
    try:
        window.actions_by_name["swap"].setShortcuts([QKeySequence("Ctrl+Alt+X")])
        before = {name: action.shortcuts() for name, action in window.actions_by_name.items()}
        dialog.open()
        qtbot.waitExposed(dialog)
        QTest.keyClick(dialog, key)
        QTest.keyClick(dialog.focusWidget() or dialog, key)
        assert {name: action.shortcuts() for name, action in window.actions_by_name.items()} == before
        assert asked == []
        dialog._ask_restore()
        assert len(asked) == 1 and "Swap A and B" in asked[0]
        assert window.actions_by_name["swap"].shortcut() == QKeySequence("Ctrl+Alt+X")
    finally:
        dialog.restore_defaults()
        dialog.close()
        dialog.deleteLater()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Escape])
def test_keys_that_dialogs_need_become_no_shortcut(window: MainWindow, qtbot: QtBot, key: Qt.Key) -> None:
    dialog = KeysDialog(window.actions_by_name, Settings(None), window)
    dialog.show()
    editor = dialog.editors["swap"]
    editor.setFocus()
    before = window.actions_by_name["swap"].shortcuts()
    QTest.keyClick(editor, key)
    QTest.qWait(1200)  # a key sequence is taken after a second
    assert window.actions_by_name["swap"].shortcuts() == before
    dialog.close()
    dialog.deleteLater()


def test_marks_of_supersets_are_asked_about_before_they_go(window: MainWindow, asked: list[str]) -> None:
    dialog = AnnotationDialog(window.hub, Settings(None), from_table=False, parent=window)
    dialog.show()
    QTest.keyClick(dialog, "e")
    marks = dialog.annotation.marks
    dialog._ask_restart()
    dialog.reject()
    assert dialog.isVisible() and dialog.annotation.marks == marks and len(asked) == 2
    QTest.keyClick(dialog, Qt.Key.Key_Backspace)
    dialog.reject()
    assert not dialog.isVisible() and len(asked) == 2
    dialog.deleteLater()


# Sessions that are kept while the program runs (L3)

_PROGRAM = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
sys.path.insert(0, {tests!r})
from test_nothing_is_lost import a_region, workspace
from calm_gui.qt.autosave import Autosave
application = QCoreApplication(["calm-gui"])
space = workspace()
autosave = Autosave(space, Path(sys.argv[1]))
autosave.start()
space.open_pictures([sys.argv[2]])
a_region(space)
assert autosave.save()
print(autosave.path.name, flush=True)
sys.stdin.readline()
autosave.finish()
"""


class Program:
    """Another program that keeps its session."""

    def __init__(self, folder: Path, picture: Path) -> None:
        code = _PROGRAM.format(tests=str(Path(__file__).parent))
        arguments = [sys.executable, "-c", code, str(folder), str(picture)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdout is not None
        self.file = self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._over()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self._over()

    def _over(self) -> None:
        self.process.wait(30)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.mark.skipif(os.name != "posix", reason="kills as on POSIX")
def test_the_session_of_the_program_that_was_killed_is_offered_and_no_other(qapp: object, tmp_path: Path) -> None:
    folder, pictures = tmp_path / "state", sample_pictures()
    first, second = Program(folder, pictures[0]), Program(folder, pictures[1])
    third = Autosave(workspace(), folder)
    assert third.left_over() == []  # both run
    second.kill()
    left = third.left_over()
    assert [one.path.name for one in left] == [second.file]
    assert Autosave(workspace(), folder).left_over() == []  # it's offered once
    third.finish()
    first.kill()
    fourth_space = workspace()
    fourth = Autosave(fourth_space, folder)
    left = fourth.left_over()
    assert {one.path.name for one in left} == {first.file, second.file}
    chosen = next(one for one in left if one.path.name == first.file)
    assert fourth.restore(chosen)
    assert fourth_space.state.picture == str(pictures[0]) and len(fourth_space.state.regions) == 1
    assert not chosen.path.exists() and load_session(fourth.path).state.regions == fourth_space.state.regions
    fourth.finish()
    assert [one.path.name for one in Autosave(workspace(), folder).left_over()] == [second.file]


@pytest.mark.skipif(os.name != "posix", reason="kills as on POSIX")
def test_what_a_program_that_ends_well_had_open_can_be_restored(qapp: object, tmp_path: Path) -> None:
    program = Program(tmp_path, sample_pictures()[0])
    program.end()
    assert Autosave(workspace(), tmp_path).left_over() == []
    (last,) = ended_sessions(tmp_path)
    space = workspace()
    assert space.open_session(last) is not None
    assert len(space.state.regions) == 1 and space.state.picture == str(sample_pictures()[0])


def test_a_session_that_cannot_be_kept_is_told_and_what_was_left_stays(qapp: object, tmp_path: Path) -> None:
    space = workspace()
    complaints: list[str] = []
    space.on_complaint(complaints.append)
    (tmp_path / "state").write_text("a file where the folder should be", "utf-8")
    autosave = Autosave(space, tmp_path / "state" / "deep")
    space.open_pictures(sample_pictures()[:1])
    assert not autosave.save()
    assert "can't be saved" in complaints[-1]


def test_a_full_disk_keeps_the_session_that_was_left(
    qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Autosave(one := workspace(), tmp_path)
    one.open_pictures(sample_pictures()[:1])
    before.save()
    before._lock.unlock()  # as if its program had been killed
    after = Autosave(space := workspace(), tmp_path)
    (left,) = after.left_over()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tempfile.mkstemp", full)
        assert after.restore(left)
    assert space.state.pictures and left.path.exists()


def test_a_damaged_session_is_put_aside(qapp: object, tmp_path: Path) -> None:
    (tmp_path / "running-x.calm.json").write_bytes(b"{")
    autosave = Autosave(workspace(), tmp_path)
    assert autosave.left_over() == []
    assert [path.read_bytes() for path in tmp_path.glob("*.damaged")] == [b"{"]


def test_the_dialog_restores_or_discards(qapp: object, tmp_path: Path) -> None:
    for position in range(2):
        space = workspace()
        autosave = Autosave(space, tmp_path)
        space.open_pictures([sample_pictures()[position]])
        autosave.save()
        autosave._lock.unlock()
    after = Autosave(space := workspace(), tmp_path)
    dialog = LeftOverDialog(after, after.left_over())
    assert dialog.list.count() == 2
    dialog.discard()
    dialog.go_on()
    assert dialog.restored and len(space.state.pictures) == 1
    assert [path.name for path in tmp_path.glob("running-*.calm.json")] == [after.path.name]


# What sessions and the user keep (L4, L5)


def test_a_session_has_its_table_of_ground_truth_again(tmp_path: Path) -> None:
    table = tmp_path / "truth.csv"
    table.write_text(f"file,class_index,x0,y0,x1,y1\n{sample_pictures()[0].name},3,1,2,30,40\n", "utf-8")
    space = workspace()
    space.open_pictures(sample_pictures()[:1])
    space.load_truth(table)
    space.save_session(tmp_path / "s.calm.json")
    assert json.loads((tmp_path / "s.calm.json").read_text("utf-8"))["truth_table"] == "truth.csv"
    again = workspace()
    again.open_session(tmp_path / "s.calm.json")
    picture = str(sample_pictures()[0])
    assert again.truth.class_of(picture) == 3 and len(again.truth.boxes_of(picture)) == 1
    table.unlink()
    complaints: list[str] = []
    lost = workspace()
    lost.on_complaint(complaints.append)
    lost.open_session(tmp_path / "s.calm.json")
    assert any("truth.csv" in sentence for sentence in complaints)


def test_a_session_of_version_0_1_opens(tmp_path: Path) -> None:
    space = workspace()
    space.open_pictures(sample_pictures()[:1])
    a_region(space)
    space.save_session(tmp_path / "s.calm.json")
    data = json.loads((tmp_path / "s.calm.json").read_text("utf-8"))
    assert data.pop("calm_session") == 2
    del data["truth_table"]
    (tmp_path / "s.calm.json").write_text(json.dumps({"calm_session": 1, **data}), "utf-8")
    again = workspace()
    assert again.open_session(tmp_path / "s.calm.json") is not None
    assert again.state.regions == space.state.regions


def test_named_sets_outlive_the_window_and_the_session(tmp_path: Path) -> None:
    path = tmp_path / "config" / "named_sets.json"
    one, two = workspace(), workspace()
    keep_named_sets(one, path)
    keep_named_sets(two, path)
    one.keep_set("pets", Expression.of("n02084071"))
    two.keep_set("cats", Expression.of("n02121808"))  # which hasn't read what the other wrote
    assert {e.name for e in read_named_sets(path)} == {"pets", "cats"}
    one.forget_set("pets")
    assert {e.name for e in read_named_sets(path)} == {"cats"}
    later = workspace()
    keep_named_sets(later, path)
    assert [e.name for e in later.state.named_sets] == ["cats"]
    other = workspace()
    other.open_pictures(sample_pictures()[:1])
    other.keep_set("cats", Expression.of("n02123045"))
    other.save_session(tmp_path / "s.calm.json")
    later.open_session(tmp_path / "s.calm.json")
    assert {(e.name, e.terms[0].key) for e in read_named_sets(path)} == {("cats", "n02121808"), ("cats 2", "n02123045")}


def test_a_file_of_named_sets_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "named_sets.json"
    path.write_bytes(b"{ half")
    space = workspace()
    complaints: list[str] = []
    space.on_complaint(complaints.append)
    keep_named_sets(space, path)
    space.keep_set("pets", Expression.of("n02084071"))
    assert complaints and path.read_bytes() == b"{ half"


@pytest.mark.parametrize("content", [b"{ half", b"[1]", b"\x80\x04K\x01.", b"[" * 100_000])
def test_damaged_settings_are_put_aside_and_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.damaged").write_bytes(b"of another day")
    (tmp_path / "settings.json").write_bytes(content)
    settings = Settings(tmp_path / "settings.json")
    assert "are damaged" in settings.note and "settings.damaged-2" in settings.note
    settings.set("theme", "dark")
    assert (tmp_path / "settings.damaged-2").read_bytes() == content
    assert (tmp_path / "settings.damaged").read_bytes() == b"of another day"
    again = Settings(tmp_path / "settings.json")
    assert again.text("theme") == "dark" and again.note == ""


@pytest.mark.parametrize("fault", ["a folder", "no permission"])
def test_settings_that_cannot_be_read_stay_and_the_program_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    path = tmp_path / "settings.json"
    if fault == "a folder":
        path.mkdir()
    else:
        path.write_text('{"theme": "dark"}')
        real = Path.lstat

        def lstat(self: Path) -> os.stat_result:
            if self == path:
                raise PermissionError(13, "Permission denied", str(self))
            return real(self)

        monkeypatch.setattr(Path, "lstat", lstat)
    settings = Settings(path)
    settings.set("theme", "light")
    assert settings.text("theme") == "light" and "aren't saved" in settings.note
    monkeypatch.undo()
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]
    assert path.is_dir() or path.read_text() == '{"theme": "dark"}'


@pytest.mark.parametrize("content", [b"{ half", b"[1]"])
def test_damaged_answers_are_put_aside_before_new_ones_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(answers_module, "answers_path", lambda: tmp_path / "answers.json")
    (tmp_path / "answers.json").write_bytes(content)
    assert answers_module.recall_answers("0") == Answers()
    answers_module.remember_answers("1", Answers(method="cam"))
    assert (tmp_path / "answers.damaged").read_bytes() == content
    assert answers_module.recall_answers("1") == Answers(method="cam")


def test_a_damaged_session_is_kept_aside_and_told(tmp_path: Path) -> None:
    space, told = workspace(), list[str]()
    space.on_complaint(told.append)
    (tmp_path / "running-x.calm.damaged").write_bytes(b"of another day")
    (tmp_path / "running-x.calm.json").write_bytes(b"{")
    assert Autosave(space, tmp_path).left_over() == []
    assert (tmp_path / "running-x.calm.damaged").read_bytes() == b"of another day"
    assert (tmp_path / "running-x.calm.damaged-2").read_bytes() == b"{"
    assert "running-x.calm.damaged-2" in told[-1]


# Drops (B35)

DROPS: dict[str, bytes | str | None] = {
    "https://example.org/cat.jpg": "address",
    "notes.txt": b"some words",
    "README.md": "# Überschrift, in UTF-8\n".encode(),
    "table.csv": b"name;age\nx;1\n",
    "numbers.npz": b"PK\x03\x04....",
    "page.html": b"<!DOCTYPE html><p>\xc3\xa4",
    "paper.pdf": b"%PDF-1.7\n\xff\xfe\xfd",
    "model.onnx": b"\x08\x07\x12\x07pytorch",
    "cut.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
    "empty.png": b"",
    "s.calm.json": b"{",
    "best.safetensors": b"\x10" * 64,
    "best.pth": b"<html>",
    "an empty folder": None,
    "gone.png": "gone",
    "pipe": "pipe",
}


@pytest.mark.parametrize("name", DROPS)
def test_a_drop_of_anything_is_told_and_loses_nothing(
    window: MainWindow, settle: Callable[[], None], qtbot: QtBot, tmp_path: Path, name: str
) -> None:
    before, shown = window.workspace.state, window.hub.scene.active.shown
    what, path = DROPS[name], tmp_path / name
    if isinstance(what, bytes):
        path.write_bytes(what)
    elif what is None:
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    data = QMimeData()
    data.setUrls([QUrl(name) if what == "address" else QUrl.fromLocalFile(str(path))])
    plain, button = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    window.dropEvent(QDropEvent(QPointF(10, 10), Qt.DropAction.CopyAction, data, button, plain))
    qtbot.waitUntil(lambda: not window.messages.isHidden(), timeout=60_000)
    settle()
    assert name.rsplit("/", 1)[-1] in window.messages.text.text() or what is None
    assert window.workspace.state == before
    assert window.hub.scene.active.shown is shown is not None
