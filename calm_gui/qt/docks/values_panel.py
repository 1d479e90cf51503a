"""The dock of the active map's values."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from calm_gui.core.maps import AnyMap, Map
from calm_gui.qt.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.widgets.elided_label import ElidedLabel
from calm_gui.qt.widgets.number_table import NumberTable
from calm_gui.render.naming import value_text
from calm_gui.session.scene import Scene

__all__ = ["VALUES", "ValuesPanel"]


class ValuesPanel(DockPanel):
    """A table of H rows and W columns; what is selected can be copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: AnyMap | None = None
        self.heading = self.words = ElidedLabel()
        self.table = NumberTable("Values of the map")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.table)

    def show_scene(self, scene: Scene) -> None:
        """Show the active pane's values."""
        content = scene.active
        if content.shown is self._shown and self._shown is not None:
            return
        self._shown = shown = content.shown
        if not isinstance(shown, Map):
            self.words.setText("Values: the active pane has no map of numbers")
            self.table.rows.show((), ())
            return
        height, width = shown.values.shape
        self.words.setText(
            f"Values: {content.title}, {height} × {width} cells, {shown.unit}, sum {value_text(shown.sum, 7)}", "Values"
        )
        self.table.rows.show([str(j) for j in range(width)], shown.values.astype(float).tolist())
        self.table.resizeColumnsToContents()


VALUES = DOCKS.register(
    Dock(
        key="values",
        title="Values",
        tip="The numbers of the active map",
        area="bottom",
        size=286,
        least=100,
        make=lambda _hub, _settings: ValuesPanel(),
    )
)
