"""The last net under every command: no traceback reaches a user, and each kind of end has its exit status."""

import logging
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Protocol

from calm_gui.errors import CalmError, why_unexpected
from calm_gui.log_file import log_handler, log_path
from calm_gui.version import __version__

__all__ = ["FAILED", "INTERRUPTED", "TERMINATED", "UNUSABLE", "command"]

_log = logging.getLogger(__name__)

FAILED, UNUSABLE, INTERRUPTED, TERMINATED = 1, 2, 128 + signal.SIGINT, 128 + signal.SIGTERM
"""Exit statuses: something failed or was unexpected, unusable arguments, Ctrl-C, SIGTERM."""


class Main(Protocol):
    """A command's main function: takes its arguments, by default the process's own, and gives the exit status."""

    def __call__(self, arguments: Sequence[str] | None = None, /) -> int:
        """Run the command."""


def command(name: str) -> Callable[[Callable[..., int]], Main]:
    """A decorator for the main function of a command.

    What the function lets through becomes one sentence on stderr and an exit status; details of what nobody expected
    go to the log. SIGTERM ends the function as Ctrl-C does, by KeyboardInterrupt. Text that stdout can't encode is
    escaped, closed pipes end the command quietly, and warnings of the program's own log go to stderr too.

    Parameters
    ----------
    name : str
        What the command is called in its sentences.
    """

    def net(main: Callable[..., int]) -> Main:
        @wraps(main)
        def guarded(arguments: Sequence[str] | None = None) -> int:
            _prepare_streams()
            os.environ.pop("MPLBACKEND", None)  # of a notebook, say; nothing here is shown by matplotlib
            with _termination() as terminated, _logged(name) as details:
                try:
                    status = main(arguments)
                    _flush()
                    if details.written:
                        _say(name, f"details of what was unexpected are in {log_path()}")
                except CalmError as error:
                    _say(name, str(error))
                    status = UNUSABLE
                except KeyboardInterrupt:
                    _say(name, "terminated" if terminated else "interrupted")
                    status = INTERRUPTED
                except BrokenPipeError:
                    status = FAILED
                except Exception as error:
                    _log.error("%s", name, exc_info=error)
                    kept = (
                        f"details are in {log_path()}" if details.written else "details could not be written to a log"
                    )
                    _say(name, f"{why_unexpected(error)}; {kept}")
                    status = FAILED
                finally:
                    _let_go_of_closed_pipes()
            return TERMINATED if terminated else status

        return guarded

    return net


def _prepare_streams() -> None:
    """Make stdout and stderr such that printing a sentence can't fail by itself."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:  # closed by whoever started us
            _point_at_nothing(descriptor)
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _point_at_nothing(descriptor: int) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    if nothing != descriptor:
        os.dup2(nothing, descriptor)
        os.close(nothing)


@contextmanager
def _termination() -> Iterator[list[int]]:
    """SIGTERM as KeyboardInterrupt, so that everything is left as it should be; the list tells whether it came."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _Details(logging.Handler):
    """Writes errors to the log file, which is made only if there is one to write.

    Attributes
    ----------
    written : bool
        Whether one was.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.written = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            file = log_handler()
        except (OSError, RuntimeError):  # RuntimeError: there is no home folder
            return
        if not self.written:
            what = f"calm-gui {__version__}, Python {platform.python_version()}, {platform.platform()}"
            file.emit(logging.LogRecord(record.name, logging.ERROR, "", 0, what, None, None))
        file.emit(record)
        file.close()
        self.written = True


@contextmanager
def _logged(name: str) -> Iterator[_Details]:
    """Warnings of the program's log on stderr, errors in the log file too, while a command runs."""
    spoken = logging.StreamHandler(sys.stderr)
    spoken.setLevel(logging.WARNING)
    spoken.setFormatter(logging.Formatter(f"{name}: %(message)s"))
    spoken.addFilter(lambda record: record.exc_info is None)  # what went wrong is said in a sentence
    details, logger = _Details(), logging.getLogger("calm_gui")
    for handler in (spoken, details):
        logger.addHandler(handler)
    try:
        yield details
    finally:
        for handler in (spoken, details):
            logger.removeHandler(handler)


def _say(name: str, sentence: str) -> None:
    with suppress(OSError, ValueError):  # nobody listens, or the stream is closed
        print(f"{name}: {sentence}", file=sys.stderr, flush=True)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _let_go_of_closed_pipes() -> None:
    """Python flushes once more at its end, and would complain there."""
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError):
                _point_at_nothing(descriptor)
