"""Fields of numbers take a point and a comma, and show one notation, whatever language the system speaks."""

import os
import subprocess
import sys

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.settings_dialog import SettingsDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.widgets.calm_fields import CalmComboBox, CalmDoubleSpinBox, CalmSpinBox
from calm_gui.qt.window.main_window import MainWindow

LOCALES = ("C", "de_DE", "tr_TR", "ar_EG", "ja_JP")


@pytest.fixture(params=LOCALES)
def language(request: pytest.FixtureRequest) -> object:
    before = QLocale()
    QLocale.setDefault(QLocale(request.param))
    yield request.param
    QLocale.setDefault(before)


@pytest.mark.parametrize(
    ("typed", "value", "shown"),
    [("85.5", 85.5, "85.50"), ("85,5", 85.5, "85.50"), ("0.5", 0.5, "0.50"), ("7٫5", 7.5, "7.50"), ("٨٥", 85, "85.00")],
)
def test_a_typed_number_is_that_number(qtbot: QtBot, language: str, typed: str, value: float, shown: str) -> None:
    field = CalmDoubleSpinBox()
    qtbot.addWidget(field)
    field.setRange(0, 1000)
    field.selectAll()
    for letter in typed:  # one after the other, as a person types, so that each step must be let in
        field.lineEdit().insert(letter)
    field.interpretText()
    assert field.value() == value
    assert field.text() == shown


def test_thousands_are_written_without_anything_between(qtbot: QtBot, language: str) -> None:
    field = CalmSpinBox()
    qtbot.addWidget(field)
    field.setRange(0, 100_000)
    field.setValue(12_345)
    assert field.text() == "12345"


def test_every_field_of_the_dialogs_shows_that_notation(window: MainWindow, language: str) -> None:
    dialogs = [ExportDialog(window.hub, Settings(None), window), SettingsDialog(window.hub, Settings(None), window)]
    try:
        fields = [
            field for kind in (QDoubleSpinBox, QSpinBox) for dialog in dialogs for field in dialog.findChildren(kind)
        ]
        assert len(fields) >= 6
        for field in fields:
            assert isinstance(field, CalmDoubleSpinBox | CalmSpinBox)
            assert field.locale().decimalPoint() == "." and field.text().isascii()
    finally:
        for dialog in dialogs:
            dialog.deleteLater()


SCRIPT = """
from calm_gui.qt.app import make_application
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QDoubleSpinBox
application = make_application()
field = QDoubleSpinBox()
field.setValue(8.5)
print(QLocale.system().decimalPoint().encode().hex(), field.text(), QLocale().decimalPoint())
"""


@pytest.mark.parametrize("locale", LOCALES[1:])
def test_the_program_sets_one_notation_at_its_start(locale: str) -> None:
    environment = {**os.environ, "LC_ALL": f"{locale}.UTF-8", "LANG": f"{locale}.UTF-8"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    system, *ours = done.stdout.split()
    assert ours == ["8.50", "."]
    if locale in ("de_DE", "tr_TR"):
        assert bytes.fromhex(system) == b","  # else the test would show nothing


def test_text_begins_at_one_edge_and_fields_are_alike_high(window: MainWindow) -> None:
    """A style sheet's padding doesn't reach the text of a spin box."""
    holder = QWidget(window)
    choice, whole, number = CalmComboBox(holder), CalmSpinBox(holder), CalmDoubleSpinBox(holder)
    choice.addItem("666")
    for field, value in ((whole, 666), (number, 6.66)):
        field.setRange(0, 1000)
        field.setValue(value)
    holder.show()
    edges, heights = [], set()
    for field in (choice, whole, number):
        field.resize(120, field.sizeHint().height())
        heights.add(field.height())
        image = field.grab().toImage()
        ground = image.pixelColor(4, image.height() // 2)
        row = [image.pixelColor(x, y) for y in range(6, image.height() - 6) for x in range(4, 60)]
        ink = [i % 56 for i, colour in enumerate(row) if abs(colour.lightness() - ground.lightness()) > 60]
        edges.append(min(ink))
    assert max(edges) - min(edges) <= 1 and min(edges) > 0
    assert len(heights) == 1
    holder.deleteLater()
