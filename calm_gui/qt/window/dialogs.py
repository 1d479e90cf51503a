"""The window's dialogs, each imported when it's first asked for."""

from collections.abc import Callable

from PySide6 import QtCore, QtGui, QtWidgets

from calm_gui.qt.adaptation import Adaptation
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings

__all__ = ["Dialogs"]


class Dialogs:
    """Opens dialogs.

    Parameters
    ----------
    window : QWidget
        Their parent.
    hub : Hub
    settings : Settings
    actions : mapping
        The window's, by name.
    run : callable
        Shows a dialog until it's closed.
    """

    def __init__(
        self,
        window: QtWidgets.QWidget,
        hub: Hub,
        settings: Settings,
        actions: dict[str, QtGui.QAction],
        run: Callable[[QtWidgets.QDialog], object],
    ) -> None:
        self._window, self._hub, self._settings = window, hub, settings
        self._actions, self._run = actions, run

    def show_checkpoint(self) -> None:
        """Show what the checkpoint is and where it computes."""
        from calm_gui.qt.dialogs.checkpoint_dialog import CheckpointDialog

        self._run(CheckpointDialog(self._hub, self._window))

    def make_calm(self, adaptation: Adaptation) -> None:
        """Ask how the classifier at hand is made a CALM, and start it."""
        from calm_gui.qt.dialogs.adapt_dialog import AdaptDialog

        self._run(AdaptDialog(self._hub, self._settings, adaptation, self._window))

    def annotate(self) -> None:
        """Annotate supersets, beginning with the table at hand."""
        from calm_gui.qt.dialogs.annotation_dialog import AnnotationDialog

        self._run(AnnotationDialog(self._hub, self._settings, parent=self._window))

    def match_classes(self) -> None:
        """Match classes to WordNet's nouns."""
        from calm_gui.qt.dialogs.matching_dialog import MatchingDialog

        self._run(MatchingDialog(self._hub, self._window))

    def show_about(self) -> None:
        """Show versions, licences and whose pictures the samples are."""
        from calm_gui.qt.dialogs.about import AboutDialog

        self._run(AboutDialog(self._window))

    def show_keys(self) -> None:
        """Show all keys, and let them be changed."""
        from calm_gui.qt.dialogs.keys_dialog import KeysDialog

        self._run(KeysDialog(self._actions, self._settings, self._window))

    def show_settings(self) -> None:
        """Show what can be set for all sessions."""
        from calm_gui.qt.dialogs.settings_dialog import SettingsDialog

        dialog = SettingsDialog(self._hub, self._settings, self._window)
        dialog.theme_chosen.connect(self._actions["theme"].setChecked)
        dialog.keys_wanted.connect(self.show_keys)
        self._run(dialog)

    def show_tour(self) -> None:
        """Explain the parts of the window."""
        from calm_gui.qt.dialogs.tour_dialog import TourDialog

        dialog = TourDialog(self._window)
        dialog.finished.connect(lambda _: dialog.deleteLater())
        dialog.show()

    def show_guide(self) -> None:
        """Show the guide."""
        self._show_page("guide")

    def show_glossary(self) -> None:
        """Show what the words mean."""
        self._show_page("glossary")

    def show_documentation(self) -> None:
        """Open the documentation site in the browser; the guide where there is no copy of the site."""
        from calm_gui.qt.dialogs.guide_dialog import site_page

        page = site_page()
        if page is None:
            self._hub.complained.emit(
                "The documentation site isn't installed, so here is the guide; make docs builds the site."
            )
            self.show_guide()
        elif not QtGui.QDesktopServices.openUrl(QtCore.QUrl.fromLocalFile(str(page))):
            self._hub.complained.emit(f"no browser could be started; the documentation is {page}")

    def _show_page(self, name: str) -> None:
        from calm_gui.qt.dialogs.guide_dialog import GuideDialog

        dialog = self._window.findChild(GuideDialog) or GuideDialog(self._window)
        dialog.show_page(name)
        dialog.show()
        dialog.raise_()

    def report_problem(self) -> None:
        """Collect what a report needs."""
        from calm_gui.qt.dialogs.report_dialog import ReportDialog

        self._run(ReportDialog(self._hub, self._settings, self._window))

    def keep_target(self) -> None:
        """Ask for a name and keep the target under it."""
        scene = self._hub.scene
        target = scene.state.selection.target
        name, accepted = QtWidgets.QInputDialog.getText(self._window, "Keep the set A", "Name", text=scene.name(target))
        if accepted and name.strip():
            self._hub.workspace.keep_set(name.strip(), target)
