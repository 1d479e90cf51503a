"""Checkpoint files of other programs: one module a form; what opens is a description and a network of ours.

A form is a module with its `FORM` and a line in `FORMS`.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from calm_gui.errors import CheckpointError
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.formats import classifiers, released
from calm_gui.model.formats.file_content import find_weights, read_foreign
from calm_gui.model.formats.form import Content, Form, Opened
from calm_gui.model.formats.hub import Beside, beside
from calm_gui.model.formats.said import architecture_of, stated_answers

__all__ = ["FORMS", "open_content", "open_foreign"]

FORMS: list[Form] = [released.FORM, classifiers.FORM]
"""In the order in which they are asked."""


def open_foreign(path: Path, answers: Answers) -> Opened:
    """Open a checkpoint file that isn't of our own format.

    Parameters
    ----------
    path : Path
    answers : Answers

    Raises
    ------
    AnswersNeeded
        If the file can be used once its user has said what it is.
    CheckpointError
        If it can't be used; the message says why.
    """
    content = read_foreign(path)
    described = beside(path)
    answers = answers.over(stated_answers(content, path.name))
    if described.classes and answers.classes is None:
        answers = replace(answers, classes=described.classes)
    try:
        weights, _ = find_weights(content, path.name, answers.averaged)
    except AnswersNeeded as first:
        weights, _ = find_weights(content, path.name, averaged=False)
        try:
            _open(path, content, weights, described, answers)
        except AnswersNeeded as second:
            raise AnswersNeeded(
                f"{first}; also, {second}",
                replace(second.guess, averaged=first.guess.averaged),
                (*first.open_questions, *second.open_questions),
                second.class_count,
            ) from first
        raise
    return _open(path, content, weights, described, answers)


def _open(
    path: Path, content: Mapping[str, Any], weights: Mapping[str, Any], described: Beside, answers: Answers
) -> Opened:
    architecture = described.architecture or architecture_of(content)
    try:
        return open_content(Content(path.name, weights, architecture, described.input), answers)
    except CheckpointError as error:
        if described.of_transformers:
            raise CheckpointError(
                f"{path.name} is a {described.of_transformers} of the transformers library, whose files aren't read "
                "here; load it there and hand it to calm_gui.from_module(network)"
            ) from error
        raise


def open_content(content: Content, answers: Answers) -> Opened:
    """Open what a file holds; errors as for `open_foreign`."""
    form = next(form for form in FORMS if form.recognises(content))
    return form.open(content, answers)._replace(answers=answers)
