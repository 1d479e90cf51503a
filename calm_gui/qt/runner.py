"""The worker: one thread that runs jobs, most urgent first, and hands results to the window's thread."""

import itertools
import queue
import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal

from calm_gui.session.jobs import CancelledError, Job

__all__ = ["QtRunner"]


class QtRunner(QObject):
    """A `calm_gui.session.jobs.Runner` on a Python thread.

    Signals
    -------
    _deliver : object
        A callable for the window's thread; queued.
    """

    _deliver = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue: queue.PriorityQueue[tuple[int, int, Job | None]] = queue.PriorityQueue()
        self._order = itertools.count()
        self._latest: dict[object, Job] = {}
        self._closed = False
        self._deliver.connect(self._run_here, Qt.ConnectionType.QueuedConnection)
        self._thread = threading.Thread(target=self._work, name="calm-worker", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether no job waits or runs."""
        return not self._latest

    def submit(self, job: Job) -> None:
        """Queue a job; one of the same token that hasn't begun is dropped."""
        if self._closed:
            return
        self.cancel(job.token)
        self._latest[job.token] = job
        self._queue.put((job.urgency, next(self._order), job))

    def cancel(self, token: object) -> None:
        """Drop queued jobs of this token, and tell a running one to stop."""
        if old := self._latest.pop(token, None):
            old.cancelled.set()

    def close(self) -> None:
        """Drop all jobs and wait for the running one."""
        if self._closed:
            return
        self._closed = True
        for job in self._latest.values():
            job.cancelled.set()
        self._queue.put((-1_000_000, 0, None))
        self._thread.join()

    def _run_here(self, call: Callable[[], None]) -> None:
        if not self._closed:
            call()

    def _hand_over(self, call: Callable[[], None]) -> None:
        if not self._closed:
            self._deliver.emit(call)

    def _work(self) -> None:
        while self._work_on(self._queue.get()[2]):
            pass

    def _work_on(self, job: Job | None) -> bool:
        """Run a job, of which nothing is held afterwards; whether there may be more."""
        if job is None:
            return False
        if job.cancelled.is_set():
            return True
        job.progress = self._forward(job)
        try:
            result = job.work(job)
        except CancelledError:
            pass
        except Exception as error:
            self._hand_over(self._finish(job, job.failed, error))
        else:
            self._hand_over(self._finish(job, job.done, result))
        return True

    def _forward(self, job: Job) -> Callable[..., None]:
        report = job.progress
        return lambda *told: self._hand_over(lambda: None if job.cancelled.is_set() else report(*told))

    def _finish(self, job: Job, callback: Callable[..., None], value: object) -> Callable[[], None]:
        def call() -> None:
            if not job.cancelled.is_set():
                self._latest.pop(job.token, None)
                callback(value)

        return call
