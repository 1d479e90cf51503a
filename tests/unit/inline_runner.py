"""A `calm_gui.session.jobs.Runner` without a thread."""

from calm_gui.session.jobs import CancelledError, Job


class InlineRunner:
    """Runs each job at once, on the calling thread."""

    def submit(self, job: Job) -> None:
        """Run it now."""
        try:
            result = job.work(job)
        except CancelledError:
            return
        except Exception as error:
            job.failed(error)
        else:
            job.done(result)

    def cancel(self, token: object) -> None:
        """Nothing is ever queued."""

    def close(self) -> None:
        """Nothing to wait for."""
