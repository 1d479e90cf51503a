"""The table of a batch's results: rows arrive while it runs, are filtered as typed, and lead to their pictures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QCompleter,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.classes import fold_text
from calm_gui.errors import DataError
from calm_gui.model.files import write_text
from calm_gui.qt.dialogs.folders import remember_folder, start_folder
from calm_gui.qt.dialogs.save_dialog import ask_where_to_save
from calm_gui.qt.dock import DockPanel
from calm_gui.qt.docks.results_rows import FilteredRows, ResultsRows
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.elided_label import ElidedLabel
from calm_gui.qt.widgets.measure import scaled
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.qt.widgets.row_menu import RowMenu
from calm_gui.session.batch_run import BatchRun
from calm_gui.session.condition import parse_condition
from calm_gui.session.expression import Expression
from calm_gui.session.failures import told_failure
from calm_gui.session.results_table import SHOWN_COLUMNS, table_text
from calm_gui.session.scene import Scene
from calm_gui.session.summary_columns import COLUMNS

__all__ = ["ResultsPanel"]

_THUMBNAIL = 24
_COMPARISONS = "<>=!"
_TABLES = "CSV (*.csv);;Tab-separated text (*.tsv);;LaTeX (*.tex)"
_EXAMPLE = "share_in_box < 0.5 and p > 0.5"

Test = Callable[[dict[str, Any]], bool]


class _Table(QTableView):
    """Arrow keys show the row's picture; Ctrl+C copies the chosen rows; / goes to the filter."""

    filter_wanted = Signal()

    def __init__(self, show_row: Callable[[int], None], copy: Callable[[], None]) -> None:
        super().__init__()
        self._show_row, self._copy = show_row, copy
        self.setAccessibleName("Results")
        self.setObjectName("results")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSortingEnabled(True)
        self.horizontalHeader().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setIconSize(QSize(_THUMBNAIL, _THUMBNAIL))
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(max(_THUMBNAIL + 4, self.fontMetrics().height() + 6))
        self.horizontalHeader().setHighlightSections(False)
        self.doubleClicked.connect(lambda index: show_row(index.row()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
            return
        if event.key() == Qt.Key.Key_Slash:
            self.filter_wanted.emit()
            return
        before = self.currentIndex().row()
        super().keyPressEvent(event)
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if self.currentIndex().isValid() and (enter or self.currentIndex().row() != before):
            self._show_row(self.currentIndex().row())


class ResultsPanel(DockPanel):
    """The last run, and those before it."""

    def __init__(self, hub: Hub, settings: Settings) -> None:
        super().__init__()
        self._hub, self._workspace, self._settings = hub, hub.workspace, settings
        self._test: Test | None = None
        self.rows = ResultsRows(self)
        self.filtered = FilteredRows(self.rows)
        self.table = _Table(self.show_row, self.copy)
        self.table.setModel(self.filtered)
        self.table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        for column, width in enumerate((200, 140, 64, 140, 90, 130, 110, 90, 96)):
            self.table.setColumnWidth(column, scaled(self, width))
        RowMenu(self.table, self._show_menu)
        self.words = ElidedLabel()
        self.words.setObjectName("muted")
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(f"for example {_EXAMPLE}")
        self.filter.setAccessibleName("Filter of the results")
        self.filter.setClearButtonEnabled(True)
        self.filter.setToolTip(
            "Compare columns, as in " + _EXAMPLE + ", or type part of a name. / jumps here, Return to the first row"
        )
        self.filter.setMinimumWidth(scaled(self, 60))
        self.filter.setMaximumWidth(scaled(self, 270))
        self.filter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        completer = QCompleter([*SHOWN_COLUMNS, *(key for key in COLUMNS if key not in SHOWN_COLUMNS)], self)
        self.filter.setCompleter(completer)
        self.filter.returnPressed.connect(self._to_first_row)
        self.table.filter_wanted.connect(self.filter.setFocus)
        self.filter.textChanged.connect(lambda _: self.apply_filter())
        self.runs = QComboBox()
        self.runs.setAccessibleName("Run")
        self.runs.hide()  # until there is more than one
        self.runs.activated.connect(lambda _: self._show_run())
        self.as_pictures = QPushButton("Show as pictures")
        self.as_pictures.setToolTip("Show only these rows' pictures in the film strip; the others stay open")
        self.as_pictures.clicked.connect(self.show_as_pictures)
        self.export = QPushButton("Export table…")
        self.export.clicked.connect(self._ask_export)
        self.new_run = QPushButton("New run…")
        self.new_run.clicked.connect(self._open)
        self.export.setToolTip("Write the rows that are shown, as CSV, TSV or LaTeX")
        for button in (self.as_pictures, self.export, self.new_run):
            button.setMinimumWidth(scaled(self, 48))  # narrow docks with large letters; the tip says what it does
        self.message = ElidedLabel()
        self.message.setObjectName("muted")
        self.tools = (self.filter,)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        row = QHBoxLayout()
        row.setContentsMargins(10, 2, 10, 2)
        row.addWidget(self.message, 1)
        for widget in (self.words, self.runs, self.as_pictures, self.export, self.new_run):
            row.addWidget(widget)
        layout.addWidget(self.table, 1)
        layout.addLayout(row)
        hub.batch_changed.connect(self._on_batch)
        self._on_batch()

    @property
    def in_tab_order(self) -> tuple[QWidget, ...]:
        """What the Tab key goes to, from first to last."""
        return (self.runs, self.filter, self.as_pictures, self.export, self.new_run, self.table)

    @property
    def run(self) -> BatchRun | None:
        """The run that is shown."""
        position = self.runs.currentIndex()
        return self._hub.batches[position] if 0 <= position < len(self._hub.batches) else None

    def show_scene(self, scene: Scene) -> None:
        """Say how many pictures a run would explain."""
        count = len(scene.state.pictures)
        self.new_run.setEnabled(count > 0)
        self.new_run.setToolTip(f"Explain all {count} open pictures" if count else "Open pictures first")
        if self.run is None:
            self.message.setText(f"A run explains all {count} open pictures and lists the results." if count else "")

    def _on_batch(self) -> None:
        runs = self._hub.batches
        if self.runs.count() != len(runs):
            self.runs.clear()
            self.runs.addItems([f"run {number}: {run.work.checkpoint}" for number, run in enumerate(runs, start=1)])
            self.runs.setCurrentIndex(len(runs) - 1)
            self.runs.setVisible(len(runs) > 1)
        self._show_run()

    def _show_run(self) -> None:
        run = self.run
        self.rows.show(run.rows if run else [])
        for column, empty in enumerate(self.rows.empty_columns):
            self.table.setColumnHidden(column, empty)
        for widget in (self.as_pictures, self.export, self.filter):
            widget.setEnabled(bool(self.rows.rows))
        if run is not None:
            self._say(run.words, bool(run.error))
        self._count()

    def _say(self, sentence: str, bad: bool = False) -> None:
        self.message.setText(sentence)
        self.message.setToolTip(sentence)
        self.message.setStyleSheet(f"color: {current_theme().bad};" if bad else "")

    def _count(self) -> None:
        total = len(self.rows.rows)
        self.words.setText(f"{self.filtered.rowCount()} of {total} match" if self._test else f"{total or 'no'} rows")

    # Filter

    def apply_filter(self) -> None:
        """Show the rows that the filter's text is true of; while a comparison is half typed, the last ones stay."""
        text = self.filter.text().strip()
        try:
            test = _test_of(text)
        except DataError as error:
            self._say(str(error))
            return
        self._test = test
        self.filtered.show_those(test)
        self._count()
        if text and not self.filtered.rowCount():
            self._say(self._why_none(text))
        elif (run := self.run) is not None:  # what a half typed filter was told doesn't outlive it
            self._say(run.words, bool(run.error))

    def _why_none(self, text: str) -> str:
        from calm_gui.session.condition import what_is_empty

        if not any(sign in text for sign in _COMPARISONS):
            return f"no name contains {text}"
        empty = what_is_empty([row.values for row in self.rows.rows], text)
        return f"no row matches; {empty}" if empty else "no row matches"

    # Rows

    def _to_first_row(self) -> None:
        """Bring the keyboard to the first row that the filter shows, and show its picture."""
        if self.filtered.rowCount():
            self.table.setFocus()
            self.table.selectRow(0)
            self.show_row(0)

    def show_row(self, number: int) -> None:
        """Show a row's picture with its target; what is open stays open."""
        row, run = self.filtered.row_at(number), self.run
        pictures = self._workspace.state.pictures
        if row.picture not in pictures:
            self._workspace.add_picture(row.picture)
        else:
            self._workspace.show_picture(pictures.index(row.picture))
        if run is not None and run.checkpoint != self._workspace.state.selection.checkpoint:
            self._workspace.complain(
                f"A stays as it is: these rows were made with {self._workspace.name_of(run.checkpoint)}, "
                "which isn't the current checkpoint"
            )
        elif run is not None:
            parts = [part.strip() for part in row.target.split(",")]
            self._workspace.set_target(Expression.of(*(f"#{p}" if p.isdecimal() else p for p in parts)))

    def menu(self, number: int) -> QMenu:
        """What can be done with a row and those chosen beside it, and with all that the filter shows; -1 is no row."""
        menu = QMenu(self.table)
        if number >= 0:
            menu.addAction("Show the picture with this target", lambda: self.show_row(number))
            menu.addAction("Copy the chosen rows", self.copy)
            folder = QUrl.fromLocalFile(str(Path(self.filtered.row_at(number).picture).parent))
            menu.addAction("Open the picture's folder", lambda: QDesktopServices.openUrl(folder))
            menu.addSeparator()
        menu.addAction("Show all these rows as pictures", self.show_as_pictures)
        menu.addAction("Export the table…", self._ask_export)
        return menu

    def _show_menu(self, index: QModelIndex, place: QPoint) -> None:
        if index.isValid() and not self.table.selectionModel().isRowSelected(index.row()):
            row = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.table.selectionModel().setCurrentIndex(index, row)  # alone, whatever keys are held
        if self.filtered.rowCount():
            show_menu(self.menu(index.row()), place)

    def show_as_pictures(self) -> None:
        """Let the film strip show the pictures of the rows that the filter shows."""
        self._hub.pictures_wanted.emit({row.picture for row in self.filtered.shown})

    def copy(self) -> None:
        """Put the chosen rows on the clipboard, with tabs between the values."""
        chosen = sorted({index.row() for index in self.table.selectionModel().selectedRows()})
        rows = [self.filtered.row_at(number).values for number in chosen]
        QGuiApplication.clipboard().setText(table_text(rows, SHOWN_COLUMNS, ".tsv"))
        self._hub.said.emit(f"{len(rows)} rows copied")

    def save_table(self, path: str) -> bool:
        """Write the rows that are shown, in their order; whether that went well."""
        suffix = Path(path).suffix.lower()
        columns = SHOWN_COLUMNS if suffix == ".tex" else dict(zip(COLUMNS, COLUMNS, strict=True))
        try:
            text = table_text([row.values for row in self.filtered.shown], columns, suffix)
            write_text(path, text, overwrite=True, inputs=self._workspace.state.files)
        except Exception as error:
            self._say(told_failure(error), bad=True)
            return False
        remember_folder(self._settings, "export", path)
        self._hub.saved.emit(path)
        return True

    def _ask_export(self) -> None:
        folder = start_folder(self._settings, "export", self._workspace.state.picture)
        if path := ask_where_to_save(self, "Export table", str(Path(folder) / "results.csv"), _TABLES):
            self.save_table(path)

    def _open(self, _: QModelIndex | bool = False) -> None:
        from calm_gui.qt.dialogs.batch_dialog import BatchDialog

        dialog = BatchDialog(self._hub, self._settings, self.window())
        dialog.exec()
        dialog.deleteLater()


def _test_of(text: str) -> Test | None:
    """What a filter's text asks; None for nothing."""
    if not text:
        return None
    if any(sign in text for sign in _COMPARISONS):
        return parse_condition(text, COLUMNS)
    needle = fold_text(text)
    keys = ("name", "predicted_name", "target_name", "truth_name")
    return lambda row: any(needle in fold_text(str(row.get(key) or "")) for key in keys)
