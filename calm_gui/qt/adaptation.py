"""`calm-train adapt` as a child process of the window: started, listened to, cancelled; what it makes is opened."""

import logging
import os
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from calm_gui.errors import CalmError
from calm_gui.qt.hub import Hub, Progress
from calm_gui.qt.settings import Settings
from calm_gui.session.adaptation import AdaptationPlan, Told, reached_words, said

__all__ = ["Adaptation"]

_log = logging.getLogger(__name__)

_NICER = 10
"""By how much the child steps back behind the window, which needs the processor at once."""

_PATIENCE_MS = 10_000
"""How long a child may take to end by itself once it's told to."""


class Adaptation(QObject):
    """Makes a CALM of a classifier, one at a time.

    Parameters
    ----------
    hub : Hub
    settings : Settings

    Signals
    -------
    reached : str, str
        A checkpoint's path, and how far it agrees with the classifier.
    """

    reached = Signal(str, str)

    def __init__(self, hub: Hub, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hub, self._settings = hub, settings
        self._plan: AdaptationPlan | None = None
        self._result: Told | None = None
        self._cancelled = False
        self._rest = b""
        self._errors = b""
        self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONUTF8", "1")
        self._process.setProcessEnvironment(environment)
        self._process.started.connect(self._be_nice)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.errorOccurred.connect(self._failed_to_start)
        self._process.finished.connect(self._finished)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._process.kill)

    @property
    def running(self) -> bool:
        """Whether a CALM is being made."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    def start(self, plan: AdaptationPlan) -> None:
        """Begin, or go on with what was interrupted.

        Raises
        ------
        CalmError
            If one is being made already, or the run's folder can't be used.
        """
        if self.running:
            raise CalmError("a CALM is being made already; cancel it first, or wait for its end")
        try:
            program, *arguments = plan.prepare()
        except OSError as error:
            raise CalmError(f"the folder {plan.out} can't be used: {error.strerror or error}") from error
        self._plan, self._result, self._cancelled, self._rest, self._errors = plan, None, False, b"", b""
        self._show(Told("starting"))
        self._process.start(program, arguments)

    def cancel(self) -> None:
        """Tell the child to end; what it has done is kept."""
        if not self.running:
            return
        self._cancelled = True
        if os.name == "posix":
            self._process.terminate()
            self._patience.start()
        else:  # a console program there gets no such message
            self._process.kill()

    def close(self) -> None:
        """End the child with the window."""
        self._process.blockSignals(True)
        if self.running:
            self._process.kill()
            self._process.waitForFinished(_PATIENCE_MS)

    @property
    def _name(self) -> str:
        return Path(self._plan.checkpoint).stem if self._plan else ""

    def _show(self, told: Told) -> None:
        words = f"Making a CALM of {self._name}: {told.words}"
        self._hub.progressed.emit(Progress(words, told.done, told.of, self.cancel))

    def _be_nice(self) -> None:
        if hasattr(os, "setpriority"):
            with suppress(OSError):  # it has ended already
                niceness = min(19, os.getpriority(os.PRIO_PROCESS, 0) + _NICER)
                os.setpriority(os.PRIO_PROCESS, self._process.processId(), niceness)

    def _read(self) -> None:
        *lines, self._rest = (self._rest + self._process.readAllStandardOutput().data()).split(b"\n")
        for line in lines:
            told = said(line.decode("utf-8", "replace"))
            if told is None:
                continue
            if told.checkpoint:
                self._result = told
            else:
                self._show(told)

    def _read_errors(self) -> None:
        self._errors = (self._errors + self._process.readAllStandardError().data())[-20_000:]

    def _failed_to_start(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._hub.progressed.emit(None)
            self._hub.complained.emit(f"calm-train can't be started: {self._process.errorString()}")

    def _finished(self, status: int, ended: QProcess.ExitStatus) -> None:
        self._patience.stop()  # or it would end a child that is started soon after
        self._read()
        self._read_errors()
        self._hub.progressed.emit(None)
        plan = self._plan
        assert plan is not None
        if self._result is not None and status == 0:
            self._open(plan, self._result)
        elif self._cancelled:
            self._hub.said.emit(f"Cancelled; the same settings for {self._name} continue where it stopped")
        else:
            crashed = ended == QProcess.ExitStatus.CrashExit
            self._hub.complained.emit(f"{Path(plan.checkpoint).name} couldn't be made a CALM: {self._why(crashed)}")

    def _why(self, crashed: bool) -> str:
        """What the child said last, or that it was ended."""
        text = self._errors.decode("utf-8", "replace")
        if text:
            _log.warning("calm-train adapt: %s", text)
        own = [line for line in text.splitlines() if line.startswith("calm-train: ")]
        if own and not crashed:
            return own[-1].removeprefix("calm-train: ")
        return "calm-train was stopped by the system, perhaps for lack of memory; start it again to continue"

    def _open(self, plan: AdaptationPlan, result: Told) -> None:
        """Open what was made beside the classifier."""
        path = result.checkpoint
        self._settings.add_recent("checkpoints", path)
        self._hub.workspace.open_beside(plan.checkpoint, path)
        self.reached.emit(path, reached_words(Path(plan.checkpoint).name, result.measures))
