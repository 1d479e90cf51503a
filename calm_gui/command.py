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

from calm_gui.errors import CalmError

__all__ = ["FAILED", "INTERRUPTED", "TERMINATED", "UNUSABLE", "command"]

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
            with _termination() as terminated, _spoken_log(name):
                try:
                    status = main(arguments)
                    _flush()
                except CalmError as error:
                    _say(name, str(error))
                    status = UNUSABLE
                except KeyboardInterrupt:
                    _say(name, "terminated" if terminated else "interrupted")
                    status = INTERRUPTED
                except BrokenPipeError:
                    status = FAILED
                except Exception as error:
                    _say(name, _unexpected(name, error))
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


@contextmanager
def _spoken_log(name: str) -> Iterator[None]:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter(f"{name}: %(message)s"))
    handler.addFilter(lambda record: record.exc_info is None)  # what went wrong is said in a sentence
    logging.getLogger("calm_gui").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("calm_gui").removeHandler(handler)


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


def _unexpected(name: str, error: Exception) -> str:
    from calm_gui import __version__
    from calm_gui.log_file import log_handler, log_path

    text = " ".join(str(error).split())[:300]
    sentence = f"something unexpected happened ({type(error).__name__}{': ' if text else ''}{text})"
    logger = logging.getLogger("calm_gui")
    try:
        handler = log_handler()
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return f"{sentence}; details could not be written to a log"
    logger.addHandler(handler)
    try:
        logger.error("%s %s, Python %s", name, __version__, platform.python_version(), exc_info=error)
    finally:
        logger.removeHandler(handler)
        handler.close()
    return f"{sentence}; details are in {log_path()}"
