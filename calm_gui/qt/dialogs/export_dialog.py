"""The export dialog: what, how large, how it looks, with a live preview."""

import html
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFontComboBox,
    QFormLayout,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.qt.dialogs.folders import remember_folder, start_folder
from calm_gui.qt.dialogs.save_dialog import ask_where_to_save, may_write
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.calm_fields import CalmDoubleSpinBox, CalmSpinBox
from calm_gui.session.failures import told_failure
from calm_gui.session.scene_figure import WHAT, scene_figure, view_spec

if TYPE_CHECKING:
    from calm_gui.render.figure_file import MapFigure
    from calm_gui.render.figure_spec import FigureSpec

__all__ = ["ExportDialog"]

_log = logging.getLogger(__name__)
_FILTERS = "PNG (*.png);;PDF (*.pdf);;SVG (*.svg);;TIFF (*.tiff *.tif);;JPEG (*.jpg *.jpeg)"
_ALSO = {"png": "P&NG", "pdf": "P&DF", "svg": "S&VG"}
_PREVIEW_DPI = 110
_UNITS = ("mm", "inch", "px")
_SHAPE = ("width", "height", "unit", "dpi", "font", "font_size")
"""What a preset keeps."""


class ExportDialog(QDialog):
    """Asks how the figure should be and saves it."""

    def __init__(self, hub: Hub, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export figure")
        self.resize(1000, 640)
        self._hub = hub
        self._scene = hub.scene
        self._truth = hub.workspace.truth.boxes_of(hub.scene.state.picture or "")
        self._settings = settings
        self._make_fields()
        self._recall()
        form = QFormLayout()
        for label, widget in (
            ("What", self.what),
            ("Preset", self._in_row(self.preset, self.keep)),
            ("Width", self._in_row(self.width_value, self.unit)),
            ("Height", self.height_value),
            ("Resolution", self.dpi),
            ("Text", self._in_row(self.font_family, self.font_size)),
            ("Caption", self.caption),
            ("Ground", self.background),
        ):
            form.addRow(label, widget)
        for box in self.boxes.values():
            form.addRow("", box)
        form.addRow("Also as", self._in_row(*self.also.values()))
        self.preview = QLabel()
        self.preview.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.preview.setMinimumSize(460, 360)
        self.preview.setAccessibleName("Preview")
        self.message = QLabel()
        self.message.setWordWrap(True)
        self.message.setOpenExternalLinks(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Close)
        buttons.accepted.connect(self.ask_and_save)
        buttons.rejected.connect(self.reject)
        top = QHBoxLayout()
        top.addLayout(form)
        top.addWidget(self.preview, 1)
        layout = QVBoxLayout(self)
        layout.addLayout(top, 1)
        layout.addWidget(self.message)
        layout.addWidget(buttons)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(150)
        self._later.timeout.connect(self.show_preview)
        self._listen()
        self._later.start()

    def _make_fields(self) -> None:
        self.what = QComboBox()
        for key, text in WHAT.items():
            self.what.addItem(text, key)
        self.preset, self.keep = QComboBox(), QPushButton("Keep…")
        self._fill_presets()
        self.width_value, self.height_value = CalmDoubleSpinBox(), CalmDoubleSpinBox()
        for spin in (self.width_value, self.height_value):
            spin.setRange(0.0, 20_000.0)
            spin.setDecimals(1)
        self.width_value.setValue(120)
        self.height_value.setSpecialValueText("as needed")
        self.unit = QComboBox()
        self.unit.addItems(_UNITS)
        self.dpi = CalmSpinBox()
        self.dpi.setRange(30, 1200)
        self.dpi.setValue(300)
        self.dpi.setSuffix(" dpi")
        self.font_family = QFontComboBox()
        self.font_family.setCurrentText("DejaVu Sans")
        self.font_family.setMaximumWidth(160)
        self.font_size = CalmDoubleSpinBox()
        self.font_size.setRange(3, 100)
        self.font_size.setValue(7)
        self.font_size.setSuffix(" pt")
        self.caption, self.background = QLineEdit(), QLineEdit("white")
        self.caption.setPlaceholderText("below the figure")
        self.boxes = {
            "titles": QCheckBox("Titles"),
            "colour_bar": QCheckBox("Colour bar"),
            "contour": QCheckBox("Contour of the threshold"),
            "truth": QCheckBox("Ground-truth boxes"),
            "transparent": QCheckBox("Transparent"),
        }
        for name in ("titles", "colour_bar", "truth"):
            self.boxes[name].setChecked(True)
        self.also = {kind: QCheckBox(text) for kind, text in _ALSO.items()}
        for kind, box in self.also.items():
            box.setToolTip(f"Write a .{kind} of the same name next to the file")
        self.boxes["contour"].setChecked(self._scene.state.view.contour)
        self.boxes["truth"].setEnabled(bool(self._truth))
        for widget, name in (
            (self.what, "What to export"),
            (self.preset, "Preset"),
            (self.keep, "Keep these sizes as a preset"),
            (self.width_value, "Width"),
            (self.height_value, "Height"),
            (self.unit, "Unit"),
            (self.dpi, "Resolution"),
            (self.font_family, "Font"),
            (self.font_size, "Size of the text"),
            (self.caption, "Caption"),
            (self.background, "Background colour"),
        ):
            widget.setAccessibleName(name)

    @staticmethod
    def _in_row(*widgets: QWidget) -> QWidget:
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        for widget in widgets:
            layout.addWidget(widget)
        return row

    def _listen(self) -> None:
        self.what.currentIndexChanged.connect(lambda _: self._later.start())
        self.unit.currentIndexChanged.connect(lambda _: self._later.start())
        self.font_family.currentTextChanged.connect(lambda _: self._later.start())
        for spin in (self.width_value, self.height_value, self.dpi, self.font_size):
            spin.valueChanged.connect(lambda _: self._later.start())
        for edit in (self.caption, self.background):
            edit.textChanged.connect(lambda _: self._later.start())
        for box in self.boxes.values():
            box.toggled.connect(lambda _: self._later.start())
        self.preset.activated.connect(lambda _: self.use_preset(self.preset.currentText()))
        self.keep.clicked.connect(self._ask_preset_name)

    # Presets

    def _presets(self) -> dict[str, dict[str, Any]]:
        from calm_gui.render.figure_spec import PRESETS

        found = {name: {key: getattr(spec, key) for key in _SHAPE} for name, spec in PRESETS.items()}
        try:
            own = json.loads(self._settings.text("export presets", "{}"))
        except ValueError:
            own = {}
        return found | {str(k): v for k, v in own.items() if isinstance(v, dict)} if isinstance(own, dict) else found

    def _fill_presets(self) -> None:
        self.preset.clear()
        self.preset.addItem("—")
        self.preset.addItems(list(self._presets()))

    def use_preset(self, name: str) -> None:
        """Take the sizes of a preset."""
        shape = self._presets().get(name)
        if shape is not None:
            self._use_shape(shape)

    def _use_shape(self, shape: dict[str, Any]) -> None:
        self.width_value.setValue(float(shape.get("width", 120)))
        self.height_value.setValue(float(shape.get("height") or 0))
        self.unit.setCurrentText(str(shape.get("unit", "mm")))
        self.dpi.setValue(int(shape.get("dpi", 300)))
        self.font_family.setCurrentText(str(shape.get("font", "DejaVu Sans")))
        self.font_size.setValue(float(shape.get("font_size", 7)))

    def keep_preset(self, name: str) -> None:
        """Keep the sizes of now under a name."""
        own = {k: v for k, v in self._presets().items() if k != name}
        own[name] = self._shape()
        self._settings.set("export presets", json.dumps(own))
        self._fill_presets()
        self.preset.setCurrentText(name)

    def _ask_preset_name(self) -> None:
        name, accepted = QInputDialog.getText(self, "Keep a preset", "Name")
        if accepted and name.strip():
            self.keep_preset(name.strip())

    def _shape(self) -> dict[str, Any]:
        return {
            "width": self.width_value.value(),
            "height": self.height_value.value() or None,
            "unit": self.unit.currentText(),
            "dpi": self.dpi.value(),
            "font": self.font_family.currentText(),
            "font_size": self.font_size.value(),
        }

    # Figure

    def _spec(self, dpi: int | None) -> "FigureSpec":
        shape = self._shape()
        spec = view_spec(
            self._scene,
            self.what.currentData(),
            **shape,
            titles=self.boxes["titles"].isChecked(),
            colour_bar=self.boxes["colour_bar"].isChecked(),
            contour=self.boxes["contour"].isChecked(),
            transparent=self.boxes["transparent"].isChecked(),
            background=self.background.text().strip() or "white",
        )
        if dpi is None or spec.dpi <= dpi:
            return spec
        if spec.unit == "px":  # the same picture, smaller
            factor = dpi / spec.dpi
            return replace(spec, dpi=dpi, width=spec.width * factor, height=spec.height and spec.height * factor)
        return replace(spec, dpi=dpi)

    def figure(self, dpi: int | None = None) -> "MapFigure":
        """The figure that is asked for, at most in this resolution."""
        boxes = self._truth if self.boxes["truth"].isChecked() else ()
        return scene_figure(self._scene, self._spec(dpi), self.what.currentData(), boxes, self.caption.text().strip())

    def show_preview(self) -> None:
        """Draw the preview, or say why there is none."""
        try:
            ratio = self.devicePixelRatioF()
            figure = self.figure(round(_PREVIEW_DPI * ratio))
        except Exception as error:
            self.preview.clear()
            self._say(told_failure(error))
            return
        canvas: Any = figure.canvas
        canvas.draw()
        width, height = canvas.get_width_height()
        image = QImage(canvas.buffer_rgba(), width, height, QImage.Format.Format_RGBA8888).copy()
        pixels = QPixmap.fromImage(image).scaled(
            self.preview.size() * ratio, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
        pixels.setDevicePixelRatio(ratio)
        self.preview.setPixmap(pixels)
        gaps = figure.missing_glyphs()
        self._say(f"no font here can draw {' '.join(gaps)}" if gaps else "")

    def ask_and_save(self) -> None:
        """Ask for a place and save there."""
        picture = self._scene.state.picture
        start = Path(start_folder(self._settings, "export", picture)) / f"{Path(picture or 'figure').stem}.png"
        if path := ask_where_to_save(self, "Export figure", str(start), _FILTERS):
            self.save(path)

    def save(self, path: str) -> bool:
        """Save the figure and its manifest; the dialog stays open and says what it wrote, or why it couldn't.

        The same figure is written in the other formats that are ticked; one that is there already is asked about.
        """
        from calm_gui.render.figure_file import save_figure

        self._later.stop()  # or a preview that waits would take the words about what was written away
        chosen = [Path(path).with_suffix(f".{kind}") for kind, box in self.also.items() if box.isChecked()]
        others = [other for other in chosen if other != Path(path) and may_write(self, "Export figure", other)]
        written = []
        try:
            for target in (Path(path), *others):
                save_figure(self.figure(), target)
                written.append(target.name)
        except Exception as error:
            why = told_failure(error)
            self._say(f"{why} ({' and '.join(written)} written)" if written else why)
            return False
        remember_folder(self._settings, "export", path)
        self._settings.set("export figure", self._choices())
        self._hub.saved.emit(path)
        folder = QUrl.fromLocalFile(str(Path(path).absolute().parent)).toString()
        names = f"{html.escape(', '.join(written))} and {'its' if len(written) == 1 else 'their'} manifest are written."
        self._say(f'{names} <a href="{html.escape(folder)}">Open folder</a>', good=True)
        return True

    def _choices(self) -> dict[str, Any]:
        """What is remembered for the next figure."""
        boxes = {name: box.isChecked() for name, box in self.boxes.items() if name != "truth"}
        also = [kind for kind, box in self.also.items() if box.isChecked()]
        shape = {"what": self.what.currentData(), **self._shape(), "ground": self.background.text()}
        return {**shape, "boxes": boxes, "also": also}

    def _recall(self) -> None:
        """Take what the last figure was made with."""
        known = self._settings.values.get("export figure")
        if not isinstance(known, dict):
            return
        try:
            self._use_shape(known)
            self.what.setCurrentIndex(max(0, self.what.findData(known.get("what"))))
            self.background.setText(str(known.get("ground", "white")))
            for kind, box in self.also.items():
                box.setChecked(kind in known.get("also", ()))
            for name, on in known.get("boxes", {}).items():
                if name in self.boxes:
                    self.boxes[name].setChecked(on is True)
        except (TypeError, ValueError, AttributeError) as error:
            _log.warning("the last figure's settings can't be used: %s", error)

    def _say(self, sentence: str, good: bool = False) -> None:
        self.message.setText(sentence)
        self.message.setStyleSheet("" if good else f"color: {current_theme().bad};")
