"""The training loop: from a configuration and pictures to ``best.safetensors``; interrupted runs go on bit for bit."""

import copy
import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from calm_gui.errors import CalmError
from calm_gui.model.calm import HeadNetwork, log_conditional, log_saliency
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.device import choose_device
from calm_training.config import Config, OptimizerConfig
from calm_training.datasets.batches import global_batches
from calm_training.datasets.faults import bad_files, without_bad_files
from calm_training.datasets.layouts import read_pictures
from calm_training.datasets.picture_set import PictureSet
from calm_training.datasets.training_pictures import TrainingPictures
from calm_training.distributed import Processes, processes, wrap
from calm_training.frozen import FeatureCache
from calm_training.network import checkpoint_info, freeze, make_network, set_training
from calm_training.objectives import calm_em, calm_ml, cam
from calm_training.run_folder import RunFolder

__all__ = ["RunInterruptedError", "class_scores", "learning_rate_factor", "make_optimizer", "objective", "train"]


class RunInterruptedError(CalmError):
    """A run was asked to end; its state is saved.

    Attributes
    ----------
    status : int
        The command's exit status: 128 and the number of the signal.
    """

    def __init__(self, sentence: str, number: int = signal.SIGINT) -> None:
        super().__init__(sentence)
        self.status = 128 + number


def train(
    config: Config, data: Path, out: Path, *, resume: bool = False, overwrite: bool = False, quiet: bool = False
) -> Path:
    """Train a checkpoint.

    Parameters
    ----------
    config : Config
    data : Path
        Folder that `config.data.root` is relative to.
    out : Path
        Folder of the run.
    resume, overwrite : bool
        What may be done with a run that is there already.
    quiet : bool
        No progress bar.

    Returns
    -------
    Path
        The best checkpoint by accuracy on the test split.

    Raises
    ------
    DataError
        If pictures are missing or too many can't be opened.
    CalmError
        If the settings or the folder can't be used, or the loss stays non-finite.
    RunInterruptedError
        If a signal ended the run; `resume` goes on.
    """
    device = choose_device(config.run.device)
    with processes(device.type) as group:
        if device.type == "cuda" and group.world > 1:
            device = torch.device("cuda", group.local_rank)
        folder = RunFolder(out, config, resume=resume, overwrite=overwrite) if group.first else None
        group.wait()
        root = data / config.data.root
        pictures, test = (read_pictures(config.data.layout, root, s) for s in (config.data.train, config.data.test))
        # Every process checks, so that all of them train on the same pictures.
        pictures = without_bad_files(pictures, bad_files(pictures.samples, config.run.workers), config.data.bad_files)
        test = without_bad_files(test, bad_files(test.samples, config.run.workers), allowed=0)
        trainer = _Trainer(config, pictures, test, device, group, folder, quiet)
        state = RunFolder(out, config, resume=True).load_state() if resume else None
        if state is not None:
            trainer.load(state)
        with trainer.cached_features(out):
            trainer.run()
    return out / "best.safetensors"


def make_optimizer(trained: HeadNetwork, settings: OptimizerConfig) -> torch.optim.Optimizer:
    """Optimizer over the parameters that need a gradient; the branches at their own rate."""
    head = [p for p in trained.head.parameters() if p.requires_grad]
    rest = [p for p in trained.backbone.parameters() if p.requires_grad]
    rate = settings.learning_rate
    groups = [{"params": rest, "lr": rate}, {"params": head, "lr": rate * settings.head_factor}]
    groups = [{**g, "initial_lr": g["lr"]} for g in groups if g["params"]]
    if settings.name == "adamw":
        return torch.optim.AdamW(groups, weight_decay=settings.weight_decay)
    return torch.optim.SGD(
        groups, momentum=settings.momentum, nesterov=settings.nesterov, weight_decay=settings.weight_decay
    )


def learning_rate_factor(settings: OptimizerConfig, step: int, steps_per_epoch: int) -> float:
    """What the initial learning rates are multiplied by at a step, counted from the beginning of the run."""
    if settings.schedule == "step":
        return float(settings.decay ** (step // steps_per_epoch // settings.step_epochs))
    if settings.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * step / (steps_per_epoch * settings.epochs)))
    return 1.0


def objective(
    config: Config, outputs: tuple[Tensor, Tensor | None], labels: Tensor, source: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Loss of a batch under the configured method; `source` is (f', a') of the E-step, None for the current ones."""
    f, a = outputs
    smoothing = config.optimizer.label_smoothing
    if a is None:
        return cam(f, labels, label_smoothing=smoothing)
    model = config.model
    if model.method == "calm-ml":
        return calm_ml(
            f,
            a,
            labels,
            activation=model.saliency_activation,
            normaliser_gradient=model.normaliser_gradient,
            label_smoothing=smoothing,
        )
    return calm_em(
        f,
        a,
        labels,
        source,
        activation=model.saliency_activation,
        normaliser_gradient=model.normaliser_gradient,
        label_smoothing=smoothing,
    )


def class_scores(outputs: tuple[Tensor, Tensor | None], activation: str) -> Tensor:
    """Scores (B,C) whose largest is the prediction: log p(y|x), or the logits of CAM."""
    f, a = outputs
    if a is None:
        return f.float().mean((2, 3))
    log_h = log_saliency(a, "relu" if activation == "relu" else "softplus")
    return (log_conditional(f) + log_h[:, None]).flatten(2).logsumexp(2)


class _Trainer:
    """One run in memory."""

    def __init__(
        self,
        config: Config,
        pictures: PictureSet,
        test: PictureSet,
        device: torch.device,
        group: Processes,
        folder: RunFolder | None,
        quiet: bool,
    ) -> None:
        self.config, self.pictures, self.test = config, pictures, test
        self.device, self.group, self.folder, self.quiet = device, group, folder, quiet
        torch.manual_seed(config.run.seed)
        self.network = make_network(config.model, len(pictures.classes)).to(device)
        self.network = self.network.to(memory_format=torch.channels_last)
        if config.run.sync_batch_norm and group.world > 1:
            self.network = nn.SyncBatchNorm.convert_sync_batchnorm(self.network)  # type: ignore[no-untyped-call]
        self.frozen, self.trained = freeze(self.network, config.model)
        self.frozen.eval()
        self.wrapped = wrap(self.trained, group, device)
        self.optimizer = make_optimizer(self.trained, config.optimizer)
        self.scaler = torch.amp.GradScaler(device.type, enabled=config.optimizer.precision == "float16")
        uses_source = config.model.method == "calm-em" and config.optimizer.e_step != "current"
        self.source = copy.deepcopy(self.trained).eval().requires_grad_(False) if uses_source else None
        self.epoch = self.batch = 0  # the next batch to do
        self.losses: list[float] = []  # of this epoch so far
        self.skipped = 0
        self.best = -1.0
        self.history: list[dict[str, float]] = []
        self.stop, self.signal = False, int(signal.SIGINT)
        self.caches: dict[int, FeatureCache] = {}  # by id of the picture set

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        if self.source is not None:
            self.source.load_state_dict(state["source"])
        torch.set_rng_state(state["random"])
        for name in ("epoch", "batch", "losses", "skipped", "best", "history"):
            setattr(self, name, state[name])

    def save(self) -> None:
        """Save the state, in the first process."""
        if self.folder is None:
            return
        self.folder.save_state(
            {
                "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scaler": self.scaler.state_dict(),
                "source": None if self.source is None else self.source.state_dict(),
                "random": torch.get_rng_state(),
                **{name: getattr(self, name) for name in ("epoch", "batch", "losses", "skipped", "best", "history")},
            }
        )

    @contextmanager
    def cached_features(self, folder: Path) -> Iterator[None]:
        """Hold what the frozen stages give for every picture, if it is the same in every epoch."""
        if self.config.data.augment or not self.config.model.freeze:
            yield
            return
        with ExitStack() as stack:
            for pictures in (self.pictures, self.test):
                dataset = TrainingPictures(pictures, self.config.model.input)

                def inputs(numbers: Sequence[int], dataset: TrainingPictures = dataset) -> Tensor:
                    return torch.stack([dataset[i][0] for i in numbers]).to(self.device)

                with tqdm(total=len(dataset), desc="frozen stages", disable=self.quiet) as bar:
                    cache = FeatureCache(self.frozen, inputs, len(dataset), folder, progress=bar.update)
                self.caches[id(pictures)] = stack.enter_context(cache)
            yield

    def run(self) -> None:
        """All epochs that are left."""
        with self._signals():
            while self.epoch < self.config.optimizer.epochs:
                self._train_epoch()
                self._finish_epoch()

    def _train_epoch(self) -> None:
        settings = self.config.optimizer
        count = len(self.pictures.samples)
        seed, group = self.config.run.seed, self.group
        batches = global_batches(count, settings.batch, seed, self.epoch, group.rank, group.world)
        if self.batch == 0 and settings.e_step == "epoch" and self.source is not None:
            self.source.load_state_dict(self.trained.state_dict())
        set_training(self.trained, self.config.model)
        saved, bad_in_a_row = time.monotonic(), 0
        left = batches[self.batch :]
        bar = tqdm(
            self._inputs(self.pictures, left, seed),
            total=len(batches),
            initial=self.batch,
            desc=f"epoch {self.epoch + 1}/{settings.epochs}",
            disable=self.quiet or not group.first,
        )
        for inputs, labels in bar:
            loss = self._step(inputs, labels, len(batches))
            finite = math.isfinite(loss)
            bad_in_a_row = 0 if finite else bad_in_a_row + 1
            self.skipped += not finite
            self.losses += [loss] if finite else []
            self.batch += 1
            bar.set_postfix(loss=f"{loss:.3f}")
            if bad_in_a_row >= self.config.run.nonfinite_steps:
                raise CalmError(
                    f"the loss wasn't finite for {bad_in_a_row} steps in a row, last in epoch {self.epoch + 1}; "
                    "lower the learning rate, or look at what state.pt of the last save holds"
                )
            if self.group.any(self.stop, self.device):
                self.save()
                raise RunInterruptedError(f"interrupted in epoch {self.epoch + 1}; go on with --resume", self.signal)
            if time.monotonic() - saved > 60 * self.config.run.save_minutes:
                self.save()
                saved = time.monotonic()

    def _step(self, inputs: Tensor, labels: Tensor, batches: int) -> float:
        """One forward and backward pass; every `accumulate` of them the weights move. Returns the global loss."""
        settings = self.config.optimizer
        number = self.epoch * batches + self.batch
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = parameters["initial_lr"] * learning_rate_factor(settings, number, batches)
        with self._autocast():
            outputs = self.wrapped(inputs)
            loss = objective(self.config, outputs, labels, self._e_step(inputs))
        value = self.group.sum([loss.item()], self.device)[0] / self.group.world
        if math.isfinite(value):
            torch.autograd.backward(self.scaler.scale(loss / settings.accumulate))
        else:
            self.optimizer.zero_grad()
        if (self.batch + 1) % settings.accumulate == 0 or self.batch + 1 == batches:
            if math.isfinite(value):
                self.scaler.step(self.optimizer)
                self.scaler.update()
            self.optimizer.zero_grad()
            self._average()
        return value

    def _e_step(self, inputs: Tensor) -> tuple[Tensor, Tensor] | None:
        if self.source is None:
            return None
        with torch.no_grad():
            f, a = self.source(inputs)
            assert a is not None
            return f, a

    def _average(self) -> None:
        """Move the E-step's source towards the present weights."""
        if self.source is None or self.config.optimizer.e_step != "ema":
            return
        decay = self.config.optimizer.ema_decay
        with torch.no_grad():
            for old, new in zip(self.source.state_dict().values(), self.trained.state_dict().values(), strict=True):
                if old.is_floating_point():
                    old.lerp_(new, 1 - decay)
                else:
                    old.copy_(new)

    def _finish_epoch(self) -> None:
        accuracy = self._accuracy()
        self.epoch, self.batch = self.epoch + 1, 0
        row = {
            "epoch": self.epoch,
            "loss": float(np.mean(self.losses)) if self.losses else math.nan,
            "accuracy": accuracy,
            "learning_rate": float(self.optimizer.param_groups[-1]["lr"]),
            "skipped_steps": self.skipped,
        }
        self.history, self.losses = [*self.history, row], []
        improved = accuracy > self.best
        self.best = max(self.best, accuracy)
        if self.folder is None:
            return
        info = checkpoint_info(self.config, self.pictures.classes, self._facts(row))
        if improved:
            save_checkpoint(self.folder.best, self.network, info, torch.float32, overwrite=True)
        save_checkpoint(self.folder.last, self.network, info, torch.float32, overwrite=True)
        self.folder.write_log(self.history)
        self.save()
        if not self.quiet:
            tqdm.write(f"epoch {self.epoch}: loss {row['loss']:.4f}, accuracy {accuracy:.2%}")

    def _facts(self, row: dict[str, float]) -> dict[str, object]:
        """What the checkpoint says of its training."""
        return {
            "data": f"{self.config.data.layout} {self.config.data.root or '.'}, {len(self.pictures.samples)} pictures",
            "epochs": self.epoch,
            "seed": self.config.run.seed,
            "metrics": {"top-1 on the test split": row["accuracy"], "test pictures": len(self.test.samples)},
            "versions": {name: version(name) for name in ("torch", "timm", "calm-gui")},
        }

    def _accuracy(self) -> float:
        """Top-1 on the test split, each picture counted once whatever the number of processes."""
        self.trained.eval()
        numbers = np.arange(len(self.test.samples))[self.group.rank :: self.group.world]
        batches = [numbers[i : i + 64] for i in range(0, len(numbers), 64)]
        right = 0
        with torch.inference_mode():
            for inputs, labels in self._inputs(self.test, batches, None):
                scores = class_scores(self.trained(inputs), self.config.model.saliency_activation)
                right += int((scores.argmax(1) == labels).sum())
        return self.group.sum([float(right)], self.device)[0] / len(self.test.samples)

    def _inputs(
        self, pictures: PictureSet, batches: list[NDArray[np.int64]], seed: int | None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Inputs of the trained part, and labels, batch by batch, on the device."""
        if id(pictures) in self.caches:
            cache, labels = self.caches[id(pictures)], np.array([sample.label for sample in pictures.samples])
            for numbers in batches:
                yield cache[numbers].to(self.device), torch.from_numpy(labels[numbers]).to(self.device)
            return
        dataset = TrainingPictures(pictures, self.config.model.input, seed if self.config.data.augment else None)
        dataset.epoch = self.epoch
        loader = DataLoader(
            dataset,
            batch_sampler=batches,  # type: ignore[arg-type]  # arrays of numbers do
            num_workers=self.config.run.workers,
            multiprocessing_context="spawn" if self.config.run.workers else None,
            pin_memory=self.device.type == "cuda",
        )
        for pixels, classes, _ in loader:
            inputs = pixels.to(self.device, non_blocking=True).contiguous(memory_format=torch.channels_last)
            with torch.no_grad(), self._autocast():
                inputs = self.frozen(inputs)
            yield inputs, classes.to(self.device, non_blocking=True)

    def _autocast(self) -> Any:
        precision = self.config.optimizer.precision
        if precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=getattr(torch, precision))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM ask the run to save and end after the present step."""

        def ask(number: int, _: object) -> None:
            self.stop = True
            self.signal = number

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
