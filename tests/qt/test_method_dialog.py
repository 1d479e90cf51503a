"""Parameters of a method are chosen in a pane's menu, and stand in its title, in the ledger and in sessions."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QDialogButtonBox, QDoubleSpinBox, QMenu
from pytestqt.qtbot import QtBot

from calm_gui.methods import METHODS
from calm_gui.qt.panes.method_dialog import MethodDialog
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.ledger import sentence
from calm_gui.session.pane import Pane
from calm_gui.session.persistence import load_session, save_session


def actions_of(window: MainWindow) -> dict:
    menu = window.panes.panes[0].menu.menu()
    menu.aboutToShow.emit()
    return {action.text(): action for action in menu.actions()}


def test_parameters_are_chosen_in_the_menu_of_the_pane(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workspace = window.workspace
    assert not [text for text in actions_of(window) if "Parameters" in text]  # a reading has none
    workspace.change_pane(0, shows=METHODS["smoothgrad:samples=2"])

    def answer(dialog: MethodDialog) -> MethodDialog.DialogCode:
        assert dialog.fields["samples"].value() == 2 and dialog.fields["noise"].value() == 0.15
        assert "no probability" in dialog.layout().itemAt(0).widget().text()
        dialog.fields["samples"].setValue(4)
        return MethodDialog.DialogCode.Accepted

    monkeypatch.setattr(MethodDialog, "exec", answer)
    actions_of(window)["Parameters of SmoothGrad…"].trigger()
    assert workspace.state.panes[0].shows is METHODS["smoothgrad:samples=4"]
    assert "Other method" in actions_of(window)
    other = [menu for menu in window.panes.panes[0].menu.menu().findChildren(QMenu) if menu.title() == "Other method"][
        -1
    ]
    checked = [action.text() for action in other.actions() if action.isChecked()]
    assert checked == ["SmoothGrad, 4 samples"]
    qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
    assert window.hub.scene.panes[0].title.startswith("SmoothGrad, 4 samples — ")
    said = sentence(window.hub.scene)
    assert "(Smilkov et al. 2017, through captum; 4 samples; noise of 0.15 times the input's range)" in said
    assert "no probabilities" in said
    save_session(tmp_path / "x.calm.json", workspace.state)
    assert load_session(tmp_path / "x.calm.json").state.panes[0].shows is METHODS["smoothgrad:samples=4"]


def test_fields_have_the_ranges_and_defaults_of_the_parameters(qtbot: QtBot) -> None:
    dialog = MethodDialog(METHODS["smoothgrad:samples=50,noise=0.4"])
    qtbot.addWidget(dialog)
    for parameter in METHODS["smoothgrad"].parameters:
        field = dialog.fields[parameter.key]
        assert (field.minimum(), field.maximum()) == (parameter.least, parameter.most)
        assert isinstance(field, QDoubleSpinBox) is not parameter.whole and field.accessibleName()
    assert dialog.chosen is METHODS["smoothgrad:samples=50,noise=0.4"]
    (box,) = dialog.findChildren(QDialogButtonBox)
    box.button(QDialogButtonBox.StandardButton.RestoreDefaults).click()
    assert dialog.chosen is METHODS["smoothgrad"]


def test_finer_cam_against_b_follows_the_contrast(window: MainWindow, qtbot: QtBot) -> None:
    workspace = window.workspace
    workspace.set_panes((Pane(METHODS["finer_cam_contrast"]),))
    workspace.set_contrast(Expression())
    qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
    assert (
        window.hub.scene.panes[0].message
        == "Finer-CAM against B needs a contrast B: right-click a class or group on the left"
    )
    seen = []
    for contrast in ("@runner-up", "@rest"):
        workspace.set_contrast(Expression.of(contrast))
        qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
        shown = window.hub.scene.panes[0].shown
        assert shown is not None and shown.contrast and " − " in window.hub.scene.panes[0].title
        seen.append(shown.contrast)
    assert seen[0] != seen[1]
    assert " as opposed to everything else, between" in sentence(window.hub.scene)
