"""The export dialog: what, how large, how it looks, with a live preview."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.explanation import Map
from calm_gui.errors import CalmError, ExportError
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import current_theme
from calm_gui.session.scene import PaneContent, Scene

if TYPE_CHECKING:
    from calm_gui.render.figure import FigureSpec, MapFigure

__all__ = ["WHAT", "ExportDialog", "scene_figure", "view_spec"]

WHAT = {
    "panes": "All panes",
    "single": "The active pane",
    "pair": "Picture and active pane",
    "strip": "Hierarchy strip",
}
"""What can be exported."""

_FILTERS = "PNG (*.png);;PDF (*.pdf);;SVG (*.svg);;TIFF (*.tiff);;JPEG (*.jpg)"
_PREVIEW_DPI = 110


def view_spec(scene: Scene, what: str, **options: Any) -> "FigureSpec":
    """The figure that looks as the window does now."""
    from calm_gui.render.figure import FigureSpec

    view = scene.state.view
    layout = "panes" if what == "strip" else what
    spec = FigureSpec(
        layout=layout,  # type: ignore[arg-type]
        opacity=view.opacity,
        overlay=view.overlay,
        sequential=view.sequential,
        diverging=view.diverging,
        native=view.native,
        threshold=view.threshold.kind,
        threshold_value=view.threshold.value,
        contour=view.contour,
        mask=view.mask,
        found_boxes=view.boxes,
    )
    return replace(spec, **options)


def scene_figure(scene: Scene, spec: "FigureSpec", what: str) -> "MapFigure":
    """The figure of what a scene shows.

    Raises
    ------
    ExportError
        If there is nothing to show yet, or the options make no sense.
    """
    from calm_gui.render.figure import map_figure

    explanation = scene.explanation
    if explanation is None:
        raise ExportError("the picture isn't explained yet")
    if what == "strip":
        steps = scene.strip
        titles = [f"{s.node.name}\n{len(s.node.classes)} classes, p {s.probability:.3f}" for s in steps]
        return map_figure(explanation, [s.shown for s in steps], spec, titles=titles)
    contents = _with_maps(scene, what)
    return map_figure(
        explanation,
        [c.shown for c in contents],
        spec,
        titles=[f"{c.title}\n{c.subtitle}" for c in contents] if what != "pair" else (),
        scales=[c.scale for c in contents],
        outlines=[(shape.name, _corners(shape)) for shape in scene.state.regions_here()],
        regions=[region for _, region in scene.regions],
    )


def _with_maps(scene: Scene, what: str) -> list[PaneContent]:
    chosen = list(scene.panes) if what == "panes" else [scene.active]
    ready = [c for c in chosen if c.explanation is not None and (c.shown is not None or c.pane.reading == "picture")]
    if not ready:
        raise ExportError("there is no map to export in the chosen panes")
    return ready


def _corners(shape: Any) -> list[tuple[float, float]]:
    if shape.kind != "box":
        return list(shape.points)
    (x0, y0), (x1, y1) = shape.points
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


class ExportDialog(QDialog):
    """Asks how the figure should be and saves it."""

    def __init__(self, hub: Hub, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export figure")
        self.resize(900, 560)
        self._scene = hub.scene
        self._settings = settings
        self.what = QComboBox()
        for key, text in WHAT.items():
            self.what.addItem(text, key)
        self.width_mm = QDoubleSpinBox()
        self.width_mm.setRange(10, 1000)
        self.width_mm.setValue(120)
        self.width_mm.setSuffix(" mm wide")
        self.dpi = QSpinBox()
        self.dpi.setRange(30, 1200)
        self.dpi.setValue(300)
        self.dpi.setSuffix(" dpi")
        self.font_size = QDoubleSpinBox()
        self.font_size.setRange(3, 40)
        self.font_size.setValue(7)
        self.font_size.setSuffix(" pt")
        for widget, name in (
            (self.what, "What to export"),
            (self.width_mm, "Width"),
            (self.dpi, "Resolution"),
            (self.font_size, "Size of the text"),
        ):
            widget.setAccessibleName(name)
        self.titles, self.bar, self.transparent = QCheckBox("Titles"), QCheckBox("Colour bar"), QCheckBox("Transparent")
        self.titles.setChecked(True)
        self.bar.setChecked(True)
        form = QFormLayout()
        form.addRow("What", self.what)
        form.addRow("Width", self.width_mm)
        form.addRow("Resolution", self.dpi)
        form.addRow("Text", self.font_size)
        for box in (self.titles, self.bar, self.transparent):
            form.addRow("", box)
        self.preview = QLabel()
        self.preview.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.preview.setMinimumSize(420, 320)
        self.preview.setAccessibleName("Preview")
        self.message = QLabel()
        self.message.setWordWrap(True)
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
        self._later.setInterval(120)
        self._later.timeout.connect(self.show_preview)
        self.what.currentIndexChanged.connect(self._later.start)
        for spin in (self.width_mm, self.dpi, self.font_size):
            spin.valueChanged.connect(lambda _: self._later.start())
        for box in (self.titles, self.bar, self.transparent):
            box.toggled.connect(lambda _: self._later.start())
        self._later.start()

    def figure(self, dpi: int | None = None) -> "MapFigure":
        """The figure that is asked for."""
        what = self.what.currentData()
        spec = view_spec(
            self._scene,
            what,
            width=self.width_mm.value(),
            dpi=dpi or self.dpi.value(),
            font_size=self.font_size.value(),
            titles=self.titles.isChecked(),
            colour_bar=self.bar.isChecked(),
            transparent=self.transparent.isChecked(),
        )
        return scene_figure(self._scene, spec, what)

    def show_preview(self) -> None:
        """Draw the preview, or say why there is none."""
        try:
            figure = self.figure(_PREVIEW_DPI)
        except CalmError as error:
            self._say(str(error))
            return
        canvas: Any = figure.canvas
        canvas.draw()
        width, height = canvas.get_width_height()
        image = QImage(canvas.buffer_rgba(), width, height, QImage.Format.Format_RGBA8888).copy()
        self.preview.setPixmap(
            QPixmap.fromImage(image).scaled(
                self.preview.size(), Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        )
        gaps = figure.missing_glyphs()
        self._say(f"no font here can draw {' '.join(gaps)}" if gaps else "")

    def ask_and_save(self) -> None:
        """Ask for a place and save there."""
        picture = Path(self._scene.state.picture or "figure").stem
        start = str(Path(self._settings.text("export folder", str(Path.home()))) / f"{picture}.png")
        path, chosen = QFileDialog.getSaveFileName(self, "Export figure", start, _FILTERS)
        if path:
            suffix = chosen.split("*")[-1].rstrip(")")
            self.save(path if Path(path).suffix else path + suffix)

    def save(self, path: str) -> bool:
        """Save the figure and its description; the dialog stays open with a sentence if that fails."""
        from calm_gui.render.figure import save_figure

        try:
            figure = self.figure()
            save_figure(figure, path)
        except CalmError as error:
            self._say(str(error))
            return False
        self._settings.set("export folder", str(Path(path).parent))
        self.accept()
        return True

    def _say(self, sentence: str) -> None:
        self.message.setText(sentence)
        self.message.setStyleSheet(f"color: {current_theme().bad};")


def numbers_of(scene: Scene) -> Map:
    """The active pane's map.

    Raises
    ------
    ExportError
        If the active pane shows none.
    """
    if not isinstance(scene.active.shown, Map):
        raise ExportError("the active pane shows no map; choose a reading")
    return scene.active.shown
