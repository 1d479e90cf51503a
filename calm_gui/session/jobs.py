"""Work that takes longer than a frame: loading and forward passes, on one worker, most urgent first."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

__all__ = ["CancelledError", "Job", "Runner"]


class CancelledError(Exception):
    """Raised inside a job that was told to stop."""


@dataclass(eq=False)
class Job:
    """One piece of work and who wants to hear of it.

    Attributes
    ----------
    token : object
        Identifies the request; a later one with the same token replaces an earlier one that hasn't begun.
    work : callable
        Runs on the worker; gets the job, to report progress and to ask whether it was cancelled.
    done : callable
        Gets the result, on the thread that submitted.
    failed : callable
        Gets the exception, on the thread that submitted.
    progress : callable
        Gets a phrase, and what else the work tells of how far it is, on the thread that submitted.
    urgency : int
        Lower is sooner.
    """

    token: object
    work: Callable[["Job"], Any]
    done: Callable[[Any], None]
    failed: Callable[[Exception], None]
    progress: Callable[..., None] = lambda *_: None
    urgency: int = 0
    cancelled: Event = field(default_factory=Event)

    def check(self) -> None:
        """Raise `CancelledError` if the job was told to stop."""
        if self.cancelled.is_set():
            raise CancelledError


class Runner(Protocol):
    """Runs jobs one after another."""

    def submit(self, job: Job) -> None:
        """Queue a job."""

    def cancel(self, token: object) -> None:
        """Drop queued jobs of this token, and tell a running one to stop."""

    def close(self) -> None:
        """Drop all jobs and wait for the running one."""
