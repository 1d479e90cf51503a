"""One training run in memory: steps, epochs, what is saved and gone on from.

More than 400 lines: what a step changes, what is saved and what is gone on from are read together.
"""

import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
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
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.checkpoint import load_weights, read_checkpoint, save_checkpoint
from calm_gui.model.known_classes import known_classes
from calm_training.config import Config
from calm_training.datasets.batches import global_batches
from calm_training.datasets.evaluation_set import EvaluationSet
from calm_training.datasets.identity import identity_of, refuse_others
from calm_training.datasets.picture_set import PictureSet
from calm_training.datasets.splits import Splits
from calm_training.datasets.training_pictures import TrainingPictures
from calm_training.distributed import Processes, wrap
from calm_training.feature_cache import FeatureCache
from calm_training.methods import Batch, Objective, Step, make_methods
from calm_training.network import checkpoint_info, freeze, make_network, refuse_local_statistics, set_training
from calm_training.optimizer import learning_rate_factor, make_optimizer
from calm_training.run_folder import RunFolder
from calm_training.selection import localization_of
from calm_training.start_heads import take_heads

__all__ = ["DivergedError", "RunInterruptedError", "Task", "Trainer"]


class DivergedError(CalmError):
    """A run whose loss or weights stopped being finite numbers."""


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


class Task(nn.Module):
    """The trained part of a network and its objective: a batch goes in, its loss comes out.

    Parameters
    ----------
    trained : HeadNetwork
    objective : Objective
    label_smoothing : float
    """

    def __init__(self, trained: HeadNetwork, objective: Objective[Any], label_smoothing: float) -> None:
        super().__init__()
        self.trained = trained
        self.objective = objective
        self.extra = objective.extra
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> Tensor:
        """Mean loss of a batch, a scalar."""
        return self.objective.loss(self.objective.outputs(self.trained, batch), batch, self.label_smoothing)


class Trainer:
    """One run in memory."""

    def __init__(
        self,
        config: Config,
        splits: Splits,
        device: torch.device,
        group: Processes,
        out: Path,
        folder: RunFolder | None,
        quiet: bool,
        localized: EvaluationSet | None = None,
    ) -> None:
        self.localized = localized  # validation pictures with boxes or masks, if the best is chosen by them
        self.config, self.splits = config, splits
        self.pictures, self.validation = splits.train, splits.validation
        self.known = known_classes(splits.train.classes)
        self.device, self.group, self.out, self.folder, self.quiet = device, group, out, folder, quiet
        torch.manual_seed(config.run.seed)
        self.objective, self.methods = make_methods(config.methods)
        network, fresh = make_network(config.model, self.objective, len(self.pictures.classes))
        self.start = take_heads(network.head, config.model.weights, self.known.classes)
        self.network = network.to(device).to(memory_format=torch.channels_last)
        synchronised = config.run.sync_batch_norm and device.type == "cuda"  # torch has no other
        if synchronised and group.world > 1:
            self.network = nn.SyncBatchNorm.convert_sync_batchnorm(self.network)  # type: ignore[no-untyped-call]
        self.frozen, self.trained = freeze(self.network, config.model)
        self.frozen.eval()
        if group.world > 1:
            refuse_local_statistics(self.trained, config.model, synchronised)
        for method in self.methods:
            method.attach(self.network, self.trained, config.model.backbone)
        self.objective.extra.to(device)
        task = Task(self.trained, self.objective, config.optimizer.label_smoothing)
        self.task = wrap(task, group, device)
        self.optimizer = make_optimizer(task, (*fresh, *self.objective.extra.parameters()), config.optimizer)
        self.scaler = torch.amp.GradScaler(device.type, enabled=config.optimizer.precision == "float16")
        self.data = identity_of({"training": splits.train, "validation": splits.validation})
        self.epoch = self.batch = 0  # the next batch to do
        self.losses: list[float] = []  # of this epoch so far
        self.skipped = 0
        self.best = -1.0
        self.history: list[dict[str, float]] = []
        self.stop, self.signal = False, int(signal.SIGINT)
        self.caches: dict[int, FeatureCache] = {}  # by id of the picture set

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a saved state, if it is of the same classes and pictures."""
        if "data" in state:
            refuse_others(state["data"], self.data)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        for method in self.methods:
            method.load_state_dict(state["methods"][method.name])
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
                "methods": {method.name: method.state_dict() for method in self.methods},
                "random": torch.get_rng_state(),
                "data": self.data,
                **{name: getattr(self, name) for name in ("epoch", "batch", "losses", "skipped", "best", "history")},
            }
        )

    @contextmanager
    def cached_features(self) -> Iterator[None]:
        """Hold what the frozen stages give for every picture, if it is the same in every epoch."""
        if self.config.data.augment or not self.config.model.freeze:
            yield
            return
        with ExitStack() as stack:
            for pictures in (self.pictures, self.validation):
                dataset = TrainingPictures(pictures, self.config.model.input)

                def inputs(numbers: Sequence[int], dataset: TrainingPictures = dataset) -> Tensor:
                    return torch.stack([dataset[i][0] for i in numbers]).to(self.device)

                with tqdm(total=len(dataset), desc="frozen stages", disable=self.quiet) as bar:
                    cache = FeatureCache(self.frozen, inputs, len(dataset), self.out, progress=bar.update)
                self.caches[id(pictures)] = stack.enter_context(cache)
            yield

    def run(self) -> None:
        """All epochs that are left."""
        with self._signals():
            while self.epoch < self.config.optimizer.epochs:
                self._train_epoch()
                self._finish_epoch()
        self._test_best()

    def _train_epoch(self) -> None:
        settings = self.config.optimizer
        count = len(self.pictures.samples)
        seed, group = self.config.run.seed, self.group
        batches = global_batches(count, settings.batch, seed, self.epoch, group.rank, group.world)
        if self.batch == 0:
            for method in self.methods:
                method.begin_epoch()
        set_training(self.trained, self.config.model)
        self.objective.extra.train()
        saved, bad_in_a_row = time.monotonic(), 0
        left = batches[self.batch :]
        bar = tqdm(
            self._batches(left),
            total=len(batches),
            initial=self.batch,
            desc=f"epoch {self.epoch + 1}/{settings.epochs}",
            disable=self.quiet or not group.first,
        )
        for batch in bar:
            loss = self._step(batch, len(batches))
            finite = math.isfinite(loss)
            bad_in_a_row = 0 if finite else bad_in_a_row + 1
            self.skipped += not finite
            self.losses += [loss] if finite else []
            self.batch += 1
            bar.set_postfix(loss=f"{loss:.3f}")
            if bad_in_a_row >= self.config.run.nonfinite_steps:
                raise DivergedError(
                    f"the loss wasn't finite for {bad_in_a_row} steps in a row, last in epoch {self.epoch + 1}; "
                    "lower the learning rate, or look at the state.pt that was saved last"
                )
            if self.group.any(self.stop, self.device):
                self.save()
                raise RunInterruptedError(f"interrupted in epoch {self.epoch + 1}; continue with --resume", self.signal)
            if time.monotonic() - saved > 60 * self.config.run.save_minutes:
                self.save()
                saved = time.monotonic()

    def _step(self, batch: Batch, batches: int) -> float:
        """One forward and backward pass; every `accumulate` of them the weights move. Returns the global loss."""
        settings = self.config.optimizer
        number = self.epoch * batches + self.batch
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = parameters["initial_lr"] * learning_rate_factor(settings, number, batches)
        with self._autocast():
            loss = self.task(batch)
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
            for method in self.methods:
                method.end_step()
        return value

    def _finish_epoch(self) -> None:
        self._refuse_broken_weights()
        accuracy = self._accuracy(self.validation)
        self.epoch, self.batch = self.epoch + 1, 0
        row = {
            "epoch": self.epoch,
            "loss": float(np.mean(self.losses)) if self.losses else math.nan,
            "accuracy": accuracy,
            "learning_rate": float(self.optimizer.param_groups[-1]["lr"]),
            "skipped_steps": self.skipped,
        }
        info = checkpoint_info(self.config, self.objective, self.known, self._facts(row))
        if self.folder is not None:
            save_checkpoint(self.folder.last, self.network, info, torch.float32, overwrite=True)
        score = accuracy if self.localized is None else self._localization(self.localized)
        if self.localized is not None:
            row["localization"] = score
        self.history, self.losses = [*self.history, row], []
        improved = score > self.best
        self.best = max(self.best, score)
        if self.folder is None:
            return
        if improved:
            save_checkpoint(self.folder.best, self.network, info, torch.float32, overwrite=True)
        self.folder.write_log(self.history)
        self.save()
        if not self.quiet:
            tqdm.write(f"epoch {self.epoch}: loss {row['loss']:.4f}, accuracy {accuracy:.2%}")

    def _refuse_broken_weights(self) -> None:
        """In every process alike, before a checkpoint would be."""
        for name, weight in self.network.state_dict().items():
            if not torch.isfinite(weight).all():
                raise DivergedError(f"{name} isn't finite after epoch {self.epoch + 1}; lower the learning rate")

    def _localization(self, pictures: EvaluationSet) -> float:
        """How well the last checkpoint localizes: the first process measures, all learn of it."""
        score = 0.0
        if self.folder is not None:
            with torch.random.fork_rng(devices=[]):
                score = localization_of(self.folder.last, pictures)
        return self.group.sum([score], self.device)[0]

    def _facts(self, row: dict[str, float]) -> dict[str, object]:
        """What the checkpoint says of its training."""
        return {
            "data": f"{self.config.data.layout} {self.config.data.root or '.'}, {len(self.pictures.samples)} pictures",
            "methods": [method.name for method in self.methods],
            "map": " with ".join(
                filter(None, [self.methods[0].title, " and ".join(m.title for m in self.methods[1:])])
            ),
            "epochs": self.epoch,
            "seed": self.config.run.seed,
            "metrics": {
                "top-1 on the validation split": row["accuracy"],
                "validation pictures": len(self.validation.samples),
            },
            "notes": [*self.splits.notes, *filter(None, [self.start])],
            "versions": {name: version(name) for name in ("torch", "timm", "calm-gui")},
        }

    def _test_best(self) -> None:
        """Measure the best checkpoint on the test split, once, as nothing was chosen on it."""
        test = self.splits.test
        if test is None:
            return
        self.group.wait()
        best = self.out / "best.safetensors"
        info, tensors = read_checkpoint(best)
        load_weights(self.network, tensors, best.name)
        accuracy = self._accuracy(test)
        if self.folder is None:
            return
        metrics = {
            **info.training["metrics"],
            "top-1 on the test split": accuracy,
            "test pictures": len(test.samples),
        }
        save_checkpoint(best, self.network, info.with_training(metrics=metrics), torch.float32, overwrite=True)
        if not self.quiet:
            tqdm.write(f"best checkpoint: accuracy {accuracy:.2%} on {len(test.samples)} test pictures")

    def _accuracy(self, pictures: PictureSet) -> float:
        """Top-1 on a split, each picture counted once whatever the number of processes."""
        self.trained.eval()
        numbers = np.arange(len(pictures.samples))[self.group.rank :: self.group.world]
        batches = [numbers[i : i + 64] for i in range(0, len(numbers), 64)]
        right = 0
        with torch.inference_mode():
            for inputs, labels in self._inputs(pictures, batches):
                right += int((self.objective.scores(self.trained(inputs)).argmax(1) == labels).sum())
        return self.group.sum([float(right)], self.device)[0] / len(pictures.samples)

    def _batches(self, left: list[NDArray[np.int64]]) -> Iterator[Batch]:
        """What is left of an epoch, batch by batch, as the methods change it."""
        seed, number = self.config.run.seed, self.batch
        for inputs, labels in self._pictures(self.pictures, left, seed):
            batch = Batch(inputs, labels, labels, (self.config.model.input.size,) * 2)
            for index, method in enumerate(self.methods):
                generator = np.random.default_rng((seed, self.epoch, number, index))
                step = Step(generator, self.group.rank, self.group.world, self.group.gather, self.group.total)
                batch = method.change_batch(batch, step)
                method.begin_step(step)
            with self._autocast():
                features = self._behind_frozen(batch.inputs, self.pictures)
            yield replace(batch, inputs=features)
            number += 1

    def _inputs(self, pictures: PictureSet, batches: list[NDArray[np.int64]]) -> Iterator[tuple[Tensor, Tensor]]:
        """Inputs of the trained part, and labels, batch by batch, nothing changed."""
        for inputs, labels in self._pictures(pictures, batches, None):
            yield self._behind_frozen(inputs, pictures), labels

    def _behind_frozen(self, inputs: Tensor, pictures: PictureSet) -> Tensor:
        """What the frozen stages make of pictures; features that were kept are that already."""
        if id(pictures) in self.caches:
            return inputs
        with torch.no_grad():
            features: Tensor = self.frozen(inputs)
        return features

    def _pictures(
        self, pictures: PictureSet, batches: list[NDArray[np.int64]], seed: int | None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Network inputs, or kept features, and labels, batch by batch, on the device."""
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
