"""Choosing target and contrast, and keeping sets."""

from calm_gui.session.actions.intents import Intents
from calm_gui.session.expression import Expression, Term, named_terms, shortest_expression

__all__ = ["Choosing"]


class Choosing(Intents):
    """Target A, contrast B, named sets."""

    def set_target(self, expression: Expression) -> None:
        """Make an expression the target A."""
        self.store.update(selection=self.state.selection._replace(target=self._named(expression)))

    def set_contrast(self, expression: Expression) -> None:
        """Make an expression the contrast B."""
        self.store.update(selection=self.state.selection._replace(contrast=self._named(expression)))

    def _named(self, expression: Expression) -> Expression:
        """The expression, which means the same under a checkpoint whose classes have another order."""
        return named_terms(expression, self.scene.classes)

    def toggle(self, key: str) -> None:
        """Add a node or class to the target, or take it away if the target holds all of it."""
        scene = self.scene
        classes = scene._set(Expression.of(key))
        target = self.state.selection.target
        if target.terms and target.terms[0].key.startswith("@") and len(target.terms) == 1:
            # A set that follows the picture is pinned before it's edited.
            target = shortest_expression(scene.target, scene.classes, scene.hierarchy)
        kept = Expression(tuple(term for term in target.terms if term.key != key))
        if classes <= scene.target:
            target = target.excluding(key)
            if scene._set(target) & classes:  # other terms hold some of it too
                target = Expression((*kept.terms, Term(key, "-")))
        else:
            target = kept if classes <= scene._set(kept) else target.including(key)
        self.set_target(target)

    def swap(self) -> None:
        """Exchange target and contrast, as they are now."""
        selection = self.state.selection
        target, contrast = self._pinned(selection.target), self._pinned(selection.contrast)
        self.store.update(selection=selection._replace(target=self._named(contrast), contrast=self._named(target)))

    def _pinned(self, expression: Expression) -> Expression:
        """The expression with a term that follows the other set replaced by the classes it stands for."""
        if not any(term.key in ("@runner-up", "@rest", "@siblings") for term in expression.terms):
            return expression
        classes = self.scene._set(expression)
        return shortest_expression(classes, self.scene.classes, self.scene.hierarchy)

    def climb(self, up: bool) -> None:
        """Make the next larger (or smaller) step of the hierarchy strip the target."""
        steps = self.scene.strip
        if not steps:
            return
        size = len(self.scene.target)
        if up:
            larger = [step for step in steps if len(step.node.classes) > size]
            goal = larger[0] if larger else None
        else:
            smaller = [step for step in steps if len(step.node.classes) < size]
            goal = smaller[-1] if smaller else None
        if goal:
            self.set_target(Expression.of(goal.node.key))

    def keep_set(self, name: str, expression: Expression) -> None:
        """Keep a set under a name; an older one of that name goes."""
        kept = tuple(e for e in self.state.named_sets if e.name != name)
        named = self._named(expression)._replace(name=name)
        self.store.update(named_sets=(*kept, named))

    def forget_set(self, name: str) -> None:
        """Forget a kept set."""
        self.store.update(named_sets=tuple(e for e in self.state.named_sets if e.name != name))
