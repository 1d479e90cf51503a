"""Numbers shown to a person have one notation: a proper minus sign, and powers of ten as ×10⁻⁵."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QDoubleSpinBox, QLabel, QLineEdit, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

import calm_gui
from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.qt.panes.colour_bar import ColourBar
from calm_gui.qt.widgets.calm_fields import CalmDoubleSpinBox
from calm_gui.qt.widgets.number_table import TableModel
from calm_gui.qt.window.cursor_line import cursor_text
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.naming import value_text
from calm_gui.render.notation import Notation
from calm_gui.render.scale import Scale, remark
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane
from calm_gui.session.scene_figure import scene_figure
from calm_gui.session.state import Threshold

PLAIN = re.compile(r"(?<![\w.])-\d|\d[eE][-+]?\d")
"""A hyphen as a sign, and an exponent as programs write it; not those of names and paths."""
POWERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read(text: str) -> float:
    """A number as a person reads it."""
    mantissa, _, power = text.replace("−", "-").partition(" ×10")
    return float(mantissa) * 10.0 ** int(power.translate(POWERS) or 0)


@given(st.floats(-1e12, 1e12).filter(lambda v: v == 0 or abs(v) > 1e-30), st.integers(1, 7))
def test_a_value_is_read_as_it_was_written(value: float, digits: int) -> None:
    text = value_text(value, digits)
    assert not PLAIN.search(text) and "-" not in text
    assert read(text) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits), abs=0)


def test_values_as_examples() -> None:
    values = (0, 0.5, 0.00512, 5e-4, -0.0158, -1.5e-5, 1234, 12345, 9999.6, 1, -0.0)
    written = [value_text(value) for value in values]
    assert written == [
        "0", "0.5", "0.00512", "5 ×10⁻⁴", "−0.0158", "−1.5 ×10⁻⁵", "1234", "1.23 ×10⁴", "1 ×10⁴", "1", "0",
    ]  # fmt: skip
    assert value_text(1.25e-7, 7) == "1.25 ×10⁻⁷" and value_text(float("-inf")) == "−inf"


def test_scales_tables_and_remarks_write_values_alike() -> None:
    scale = Scale(-4e-5, 4e-5)
    assert scale.ticks(2)[0][1] == scale.text(-4e-5) == value_text(-4e-5) == "−4 ×10⁻⁵"
    assert remark(np.full((2, 2), -2e-5)) == "no variation: every cell is −2 ×10⁻⁵"
    table = TableModel()
    table.show(("value",), [(-2e-5,)])
    assert table.data(table.index(0, 0)) == "−2 ×10⁻⁵"
    assert table.text() == "value\n-2e-05"  # what is copied is for programs


def test_a_logarithmic_scale_writes_its_lower_end_out() -> None:
    notation = Notation.of(Scale(1.58e-6, 1.58e-2, "log"))
    assert notation.factor == "×10⁻⁴"
    assert [notation.text(v) for v in (1.58e-2, 1e-3, 1e-5, 1.58e-6)] == ["158", "10", "0.1", "0.0158"]
    for high in (1.0, 0.942, 9.99e-7, 3.2e5):
        ends = Notation.of(Scale(high / 1e4, high, "log"))
        assert max(len(ends.text(high)), len(ends.text(high / 1e4))) <= 6  # as many as the field holds
    for value in (1.58e-2, 1.58e-6):
        assert notation.value(notation.text(value)) == pytest.approx(value)


def test_a_field_shows_a_minus_and_takes_both(qtbot: QtBot) -> None:
    field = CalmDoubleSpinBox()
    qtbot.addWidget(field)
    field.setRange(-10, 10)
    field.setValue(-2.5)
    assert field.text() == "−2.50"
    for typed in ("-7.5", "−7,5"):
        field.setValue(0)
        field.selectAll()
        for letter in typed:
            field.lineEdit().insert(letter)
        field.interpretText()
        assert field.value() == -7.5 and field.text() == "−7.50"


def words_of(model: QAbstractItemModel, parent: QModelIndex, depth: int = 0) -> Iterator[str]:
    """What the cells of a table or tree show and say; of a long one the first rows and the last."""
    roles = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole)
    if isinstance(model, QAbstractListModel):
        rows, columns = range(model.rowCount()), 1
    else:
        rows, columns = range(model.rowCount(parent)), model.columnCount(parent)
    for row in (*rows[:40], *rows[-10:]):
        for column in range(columns):
            index = model.index(row, column, parent)
            for role in roles:
                if isinstance(text := model.data(index, role), str):
                    yield text
        if depth < 2 and not isinstance(model, QAbstractTableModel | QAbstractListModel):
            yield from words_of(model, model.index(row, 0, parent), depth + 1)


def said(window: MainWindow) -> list[str]:
    """Texts, tooltips and names of every widget, and the cells of every table and tree."""
    texts: list[str] = []
    for widget in window.findChildren(QWidget):
        texts += [widget.toolTip(), widget.accessibleName(), widget.accessibleDescription(), widget.statusTip()]
        if isinstance(widget, QLabel | QLineEdit | QSpinBox | QDoubleSpinBox):
            texts.append(widget.text())
        if isinstance(widget, QComboBox):
            texts += [widget.itemText(i) for i in range(widget.count())]
        if isinstance(widget, QAbstractItemView) and widget.model() is not None:
            texts += words_of(widget.model(), QModelIndex())
    return texts


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whatever text is painted from now on."""
    texts: list[str] = []
    before = QPainter.drawText

    def draw(painter: QPainter, *args: Any) -> Any:
        texts.extend(arg for arg in args if isinstance(arg, str))
        return before(painter, *args)

    monkeypatch.setattr(QPainter, "drawText", draw)
    return texts


@pytest.mark.parametrize(
    ("checkpoint", "panes", "look"),
    [
        ("demo", ("counterfactual", "attribution"), {"threshold": Threshold("value", 1e-4)}),
        ("demo", ("counterfactual", "conditional", "saliency"), {"relative": True, "spacing": "log"}),
        ("demo", ("winner", "attribution"), {"spacing": "log", "depth": 9}),
        ("demo-cam", ("cam",), {"threshold": Threshold("value", -0.5)}),
    ],
)
def test_the_window_and_its_figures_write_no_number_as_programs_do(
    window: MainWindow, settle, painted: list[str], checkpoint: str, panes: tuple[str, ...], look: dict[str, Any]
) -> None:
    workspace = window.workspace
    workspace.open_checkpoint(bundled_checkpoints()[checkpoint])
    workspace.open_pictures(sample_pictures()[:1])
    settle()
    first, last = window.hub.scene.explanation.classes[0], window.hub.scene.explanation.classes[-1]
    workspace.set_target(Expression.of(str(first.wnid)))
    workspace.set_contrast(Expression.of(str(last.wnid)))  # neither is in the picture, so that every number is small
    workspace.set_panes([Pane.of(reading) for reading in panes])
    workspace.update_view(**look)
    workspace.add_region("box", [(5, 5), (25, 25)])
    settle()
    for key in ("values", "ladder", "regions", "view", "classes"):
        window.docks.open(key)
        window.repaint()
        QTest.qWait(1)
        window.grab()
    texts = [*said(window), *painted]
    scene = window.hub.scene
    width, height = scene.explanation.geometry.picture
    for x, y in ((3, 3), (width / 2, height / 2)):
        texts += [cursor_text(scene, (x, y), pane) for pane in range(len(panes))]
    if checkpoint == "demo-cam":
        best = float(scene.explanation.f[:, 0, 0].max())
        assert f" {value_text(best)}" in cursor_text(scene, (3, 3), 0)
    for what in ("panes", "strip", "regions") if checkpoint == "demo" else ("panes",):
        figure = scene_figure(scene, FigureSpec(spacing=look.get("spacing", "linear")), what)
        texts += [text.get_text() for text in figure.findobj(Text)]
    wrong = sorted({text for text in texts if PLAIN.search(text)})
    assert not wrong, wrong[:10]
    assert any("×10⁻" in text for text in texts) or checkpoint == "demo-cam"
    assert any(re.search(r"−\d", text) for text in texts)


def test_the_bar_of_a_pane_says_its_ends_so(qtbot: QtBot) -> None:
    bar = ColourBar()
    qtbot.addWidget(bar)
    bar.show_scale(Scale(-4e-5, 4e-5), "RdBu")
    assert bar.accessibleName().startswith("colours from −4 ×10⁻⁵ to 4 ×10⁻⁵")


def test_nothing_shown_formats_values_by_itself() -> None:
    """`value_text` and its kin are the only ones; manifests are for programs."""
    package = Path(calm_gui.__file__).parent
    own = re.compile(r":[-+]?\.\d+[gGeE]\}")
    files = [file for folder in ("qt", "render", "session") for file in (package / folder).rglob("*.py")]
    found = {file.name for file in files if own.search(file.read_text(encoding="utf-8"))}
    assert found == {"manifest.py"}
