"""What is opened, dropped, pasted and packed; settings, guide and glossary."""

import json
import shutil
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from PySide6.QtCore import QBuffer, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QDragEnterEvent, QGuiApplication, QImage, QTextDocument
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.readings import READINGS
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.guide_dialog import PAGES, GuideDialog, pages_folder
from calm_gui.qt.dialogs.settings_dialog import SettingsDialog
from calm_gui.qt.dialogs.tour_dialog import STOPS, TourDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window import offered_files
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.qt.window.offered_files import from_mime, offered
from calm_gui.qt.window.recent_questions import RecentQuestions
from calm_gui.session.explanation_files import ExplanationFiles
from calm_gui.session.expression import Expression
from calm_gui.session.packing import pack_session
from calm_gui.session.persistence import load_session


def test_a_checkpoint_with_an_unknown_ending_opens_as_one_and_keeps_the_pictures(
    window: MainWindow, settle: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    odd = tmp_path / "weights.model"
    shutil.copy(bundled_checkpoints()["demo"], odd)
    before = window.workspace.state.pictures
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: (str(odd), ""))
    window.files.open_checkpoint()
    settle()  # type: ignore[operator]
    assert window.workspace.state.selection.checkpoint == str(odd)
    assert window.workspace.state.pictures == before
    assert offered([str(odd)]).checkpoints == (str(odd),)  # so it is when it's dropped


def test_what_is_nothing_of_ours_is_told_and_leaves_what_is_open(window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("some words", "utf-8")
    before = window.workspace.state.pictures
    window.files.open([str(tmp_path / "notes.txt")])
    assert window.workspace.state.pictures == before
    assert "notes.txt is a text file" in window.messages.text.text()
    found = offered(["a.pth", "b.pth", "c.jpg", "t.csv", "s.calm.json"])
    assert (found.checkpoints, found.pictures, found.tables) == (("a.pth", "b.pth"), ("c.jpg",), ("t.csv",))
    assert found.refused == ("b.pth isn't opened: only one checkpoint at a time",)
    web = QMimeData()
    web.setUrls([QUrl("https://example.org/a.jpg")])
    assert "is a web address" in from_mime(web).refused[0]


def test_a_picture_dragged_from_a_browser_is_kept_or_told(
    window: MainWindow, settle: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Browsers give pixels, an address that holds the picture itself, an address on the web, or that as text."""
    monkeypatch.setattr(offered_files.platformdirs, "user_data_dir", lambda *_, **__: str(tmp_path))
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(QColor("#c06020"))
    png = QBuffer()
    png.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(png, "PNG")
    inline = "data:image/png;base64," + bytes(png.data().toBase64()).decode()
    pixels, url, text = QMimeData(), QMimeData(), QMimeData()
    pixels.setImageData(image)
    pixels.setUrls([QUrl("https://example.org/cat.png")])
    url.setUrls([QUrl(inline)])
    text.setText(inline)
    for given in (pixels, url, text):
        enter = QDragEnterEvent(
            QPoint(5, 5), Qt.DropAction.CopyAction, given, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        )
        window.dragEnterEvent(enter)
        assert enter.isAccepted()
        window.files.take(given)
        settle()  # type: ignore[operator]
        assert window.hub.scene.explanation.picture.shape == (40, 60, 3)
        assert tuple(window.hub.scene.explanation.picture[0, 0]) == (0xC0, 0x60, 0x20)
        window.workspace.open_pictures([sample_pictures()[0]])
        settle()  # type: ignore[operator]
    shown = window.workspace.state.pictures
    for address in ("https://example.org/cat.png", "data:image/png;base64,AAAA", "data:image/png;base64,%%%"):
        given = QMimeData()
        given.setText(address)
        window.files.take(given)
        sentence = window.messages.text.text()
        assert ("is a web address" if address.startswith("https") else "no picture") in sentence
        assert window.workspace.state.pictures == shown


def test_a_pasted_picture_comes_beside_those_that_are_open(
    window: MainWindow, settle: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(offered_files.platformdirs, "user_data_dir", lambda *_, **__: str(tmp_path))
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(QColor("#c06020"))
    QGuiApplication.clipboard().setImage(image)
    before = window.workspace.state.pictures
    window.files.paste()
    window.files.paste()
    settle()  # type: ignore[operator]
    after = window.workspace.state.pictures
    assert after[: len(before)] == before and len(after) == len(before) + 2
    assert window.hub.scene.explanation.picture.shape == (40, 60, 3)
    QGuiApplication.clipboard().setText("words")
    window.files.paste()
    assert "no picture on the clipboard" in window.messages.text.text()


def test_a_packed_session_opens_elsewhere(window: MainWindow, settle: object, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    pictures = [own / "a.jpg", own / "sub" / "a.jpg"]
    pictures[1].parent.mkdir()
    for picture, sample in zip(pictures, sample_pictures(), strict=False):
        shutil.copy(sample, picture)
    window.workspace.open_pictures(pictures)
    settle()  # type: ignore[operator]
    window.workspace.add_region("box", ((1.0, 2.0), (30.0, 40.0)))
    table = own / "truth.csv"
    table.write_text("file,class_index\na.jpg,3\n", "utf-8")
    window.workspace.load_truth(table)
    words = pack_session(tmp_path / "s.zip", window.workspace)
    assert "2 pictures" in words
    shutil.rmtree(own)
    with zipfile.ZipFile(tmp_path / "s.zip") as packed:
        packed.extractall(tmp_path / "there")
    text = (tmp_path / "there" / "session.calm.json").read_text("utf-8")
    assert str(tmp_path) not in text and json.loads(text)["pictures"] == ["pictures/a.jpg", "pictures/a-2.jpg"]
    saved = load_session(tmp_path / "there" / "session.calm.json")
    assert not saved.missing and len(saved.state.regions) == 1
    assert saved.state.truth_table == str(tmp_path / "there" / "truth.csv")
    assert "SHA-256" in (tmp_path / "there" / "CHECKPOINTS.txt").read_text("utf-8")


def test_settings_say_and_change_what_is_kept_on_disk(window: MainWindow, tmp_path: Path) -> None:
    files = ExplanationFiles(tmp_path)
    disk = window.workspace.compute.disk
    disk.files = files
    try:
        explanation = window.hub.scene.explanation
        files.keep("k" * 64, explanation.f, explanation.a[None])
        settings = Settings(None)
        dialog = SettingsDialog(window.hub, settings, window)
        assert dialog.held.text() == f"{files.size() / 1e6:.0f} MB used" != "0 MB used"
        dialog.clear.click()
        assert dialog.held.text() == "0 MB used" and files.get("k" * 64) is None
        dialog.cache.setValue(0)
        assert settings.number("cache megabytes", 1000) == 0 and disk.files.most_bytes == 0
        disk.files.keep("k" * 64, explanation.f, None)
        assert disk.files.size() == 0
        dialog.deleteLater()
    finally:
        disk.files = None


def test_guide_and_glossary_are_shown_with_their_pictures(window: MainWindow) -> None:
    dialog = GuideDialog(window)
    for name in PAGES:
        dialog.show_page(name)
        assert len(dialog.text.toPlainText()) > 1000
    pictures = [line.split("](")[1].split(")")[0] for line in _lines("guide") if line.startswith("![")]
    assert pictures
    for picture in pictures:
        image = dialog.text.loadResource(QTextDocument.ResourceType.ImageResource.value, QUrl(picture))
        assert not image.isNull(), picture
    dialog._follow(QUrl("glossary.md"))
    assert dialog.windowTitle() == "Glossary"
    dialog.deleteLater()


def test_the_documentation_is_opened_in_the_browser_or_the_guide_takes_its_place(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[QUrl] = []
    works = [True]
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or works[0])
    (tmp_path / "resources/calm_resources").mkdir(parents=True)
    monkeypatch.setattr("calm_resources.__file__", str(tmp_path / "resources/calm_resources/__init__.py"))
    action = window.actions_by_name["documentation"]
    action.trigger()
    assert opened == []
    assert window.findChild(GuideDialog).isVisible() and "make docs" in window.messages.text.text()
    window.findChild(GuideDialog).close()
    for place in ("build/site", "resources/calm_resources/site"):  # what was installed comes first
        page = tmp_path / place / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text("")
        action.trigger()
        assert opened.pop().toLocalFile() == str(page)
    works[0] = False
    action.trigger()
    assert "No browser could be started" in window.messages.text.text()


def _lines(name: str) -> list[str]:
    return (pages_folder() / f"{name}.md").read_text("utf-8").splitlines()


def test_the_export_dialog_stays_open_says_what_it_wrote_and_remembers(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = Settings(tmp_path / "settings.json")
    dialog = ExportDialog(window.hub, settings, window)
    dialog.open()
    dialog.width_value.setValue(63.5)
    dialog.boxes["titles"].setChecked(False)
    assert dialog.save(str(tmp_path / "fig.png"))
    assert dialog.isVisible() and "fig.png" in dialog.message.text() and "Open folder" in dialog.message.text()
    assert window.messages.text.text() == "fig.png is written." and not window.messages.folder.isHidden()
    dialog.also["pdf"].setChecked(True)
    assert dialog.save(str(tmp_path / "both.png"))
    assert "both.png, both.pdf and their manifest are written" in dialog.message.text()
    assert (tmp_path / "both.pdf").read_bytes()[:5] == b"%PDF-" and (tmp_path / "both.png").stat().st_size > 1000
    (tmp_path / "third.pdf").write_text("mine")
    asked: list[str] = []
    monkeypatch.setattr(QMessageBox, "question", lambda *a: asked.append(a[2]) or QMessageBox.StandardButton.No)
    assert dialog.save(str(tmp_path / "third.png"))
    assert asked == ["third.pdf already exists. Replace it?"] and (tmp_path / "third.pdf").read_text() == "mine"
    dialog.close()
    again = ExportDialog(window.hub, Settings(tmp_path / "settings.json"), window)
    assert again.also["pdf"].isChecked() and not again.also["svg"].isChecked()
    assert again.width_value.value() == 63.5 and not again.boxes["titles"].isChecked()
    again.deleteLater()
    dialog.deleteLater()
    broken = Settings(None)
    broken.set("export figure", {"width": "wide", "boxes": 3})
    ExportDialog(window.hub, broken, window).deleteLater()
    window.hub.complained.emit("something failed")
    assert window.messages.folder.isHidden()


def test_saves_say_so_and_begin_in_the_folder_of_the_last_with_a_name_that_tells_what_it_is(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starts = []

    def ask(_parent: object, _title: str, start: str, *_: object, **__: object) -> tuple[str, str]:
        starts.append(start)
        return str(tmp_path / "numbers.npz"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    window.files.export_numbers()
    assert window.messages.text.text() == "numbers.npz is written."
    (tmp_path / "numbers.npz").unlink()
    window.files.export_numbers()
    assert Path(starts[0]).name == f"{sample_pictures()[0].stem}.attribution.npz"
    assert Path(starts[1]).parent == tmp_path


def test_questions_that_were_asked_can_be_asked_again(window: MainWindow, settle: object, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.json")
    recent = RecentQuestions(window.hub, settings)
    workspace = window.workspace
    workspace.set_target(Expression.of("n02084071"))
    workspace.change_pane(workspace.state.active, shows=READINGS["conditional"])
    recent.keep()
    recent.keep()
    assert len(recent.kept) == 1
    workspace.set_target(Expression.of("@predicted"))
    workspace.change_pane(workspace.state.active, shows=READINGS["attribution"])
    again = RecentQuestions(window.hub, Settings(tmp_path / "settings.json"))
    menu = QMenu()
    again.fill(menu)
    assert "dog" in menu.actions()[0].text()
    menu.actions()[0].trigger()
    assert workspace.state.selection.target.terms[0].key == "n02084071"
    assert workspace.state.panes[workspace.state.active].shows is READINGS["conditional"]
    settings.set("recent questions", ["x", {"A": 3}, {"words": "w", "A": [["*", "k"]], "B": [], "reading": "cam"}])
    assert recent.kept == []


def test_what_am_i_looking_at_frames_and_explains_each_part_once(window: MainWindow) -> None:
    dialog = TourDialog(window)
    dialog.show()
    titles = []
    for _ in STOPS:
        titles.append(dialog.title.text())
        assert len(dialog.text.text()) > 60
        assert not dialog.framed.isEmpty() and window.rect().contains(dialog.framed)
        dialog.on.click()
    assert titles == [stop.title for stop in STOPS] and not dialog.isVisible()
    dialog.deleteLater()


def test_the_dialogs_of_the_documentations_pictures_open(window: MainWindow) -> None:
    spec = spec_from_file_location("figures", Path(__file__).parents[2] / "tools/figures.py")
    assert spec is not None and spec.loader is not None
    figures = module_from_spec(spec)
    spec.loader.exec_module(figures)
    for name, opened in figures.DIALOGS.items():
        dialog = opened(window)
        assert dialog.windowTitle(), name
        dialog.deleteLater()
