"""Which labels an expression has in the end, worked out from its syntax tree.

A query that names a series or a label that is not there gives nothing, for ever and in silence; so does one that
joins two sides on labels which only one of them has. Here both are errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import promql_parser as promql

from tests.series import VALUES

Labels = frozenset[str]
#: Functions that give one number without labels, or none of their argument's.
_BARE = {"vector", "scalar", "time", "hour", "minute"}


class WrongQueryError(AssertionError):
    """A query that can't give what it asks for."""


def labels_of(query: str, series: Mapping[str, Labels]) -> Labels:
    """The labels of what a query gives, if all that it names is there."""
    return _Reader(series).read(promql.parse(query)) or frozenset()


class _Reader:
    """Reads a syntax tree from the leaves up; None stands for a plain number."""

    def __init__(self, series: Mapping[str, Labels]) -> None:
        self._series = series
        self._readers: dict[type, Callable[..., Labels | None]] = {
            promql.NumberLiteral: lambda _: None,
            promql.StringLiteral: lambda _: None,
            promql.ParenExpr: lambda node: self.read(node.expr),
            promql.UnaryExpr: lambda node: self.read(node.expr),
            promql.SubqueryExpr: lambda node: self.read(node.expr),
            promql.MatrixSelector: lambda node: self.read(node.vector_selector),
            promql.VectorSelector: self._selector,
            promql.Call: self._call,
            promql.AggregateExpr: self._aggregate,
            promql.BinaryExpr: self._binary,
        }

    def read(self, node: promql.Expr) -> Labels | None:
        return self._readers[type(node)](node)

    def _selector(self, node: promql.VectorSelector) -> Labels:
        if node.name is None or node.name not in self._series:
            raise WrongQueryError(f"no such series: {node}")
        labels = self._series[node.name]
        for matcher in node.matchers.matchers:
            if matcher.name not in labels:
                raise WrongQueryError(f"{node.name} has no label {matcher.name}")
            _check_values(matcher)
        return labels

    def _call(self, node: promql.Call) -> Labels | None:
        arguments = [self.read(argument) for argument in node.args]
        labels = frozenset[str]().union(*(found for found in arguments if found is not None))
        match node.func.name:
            case "scalar" | "time":
                return None
            case name if name in _BARE:
                return frozenset()
            case "absent" | "absent_over_time":
                return _pinned(node.args[0])
            case "histogram_quantile" if "le" not in labels:
                raise WrongQueryError(f"no buckets left: {node}")
            case "histogram_quantile":
                return labels - {"le"}
            case "label_replace":
                return labels | {_text(node.args[1])}
        return labels

    def _aggregate(self, node: promql.AggregateExpr) -> Labels:
        inner = self.read(node.expr) or frozenset()
        named = frozenset(node.modifier.labels) if node.modifier else frozenset[str]()
        if not named <= inner:
            raise WrongQueryError(f"no label {', '.join(named - inner)} to group by: {node}")
        if str(node.op) in {"topk", "bottomk"}:
            return inner
        if node.modifier and node.modifier.type == promql.AggModifierType.Without:
            return inner - named
        return named

    def _binary(self, node: promql.BinaryExpr) -> Labels | None:
        left, right = self.read(node.lhs), self.read(node.rhs)
        if left is None or right is None:
            return right if left is None else left
        matched = _matched_on(node, left, right)
        if str(node.op) in {"and", "unless"}:
            return left
        if str(node.op) == "or":
            return left | right
        card = node.modifier.card if node.modifier else promql.VectorMatchCardinality.OneToOne
        added = frozenset((node.modifier and node.modifier.group_labels) or ())
        if card == promql.VectorMatchCardinality.ManyToOne:
            return left | added
        if card == promql.VectorMatchCardinality.OneToMany:
            return right | added
        return matched


def _matched_on(node: promql.BinaryExpr, left: Labels, right: Labels) -> Labels:
    """The labels both sides are matched on, if both have them; without any said, all have to be the same."""
    matching = node.modifier.matching if node.modifier else None
    if matching is None:
        if left != right:
            raise WrongQueryError(f"{sorted(left)} will never match {sorted(right)}: {node}")
        return left
    named = frozenset(matching.labels)
    if matching.type == promql.LabelModifierType.Exclude:
        return (left | right) - named
    if not named <= left & right:
        raise WrongQueryError(f"not on both sides: {sorted(named - (left & right))}: {node}")
    return named


def _check_values(matcher: promql.Matcher) -> None:
    """A value from a closed list that is not on it matches nothing, or everything."""
    known = VALUES.get(matcher.name)
    if known is None:
        return
    if matcher.op == promql.MatchOp.Re or matcher.op == promql.MatchOp.NotRe:
        each = matcher.value.split("|") if re.fullmatch(r"[\w|]+", matcher.value) else [matcher.value]
        found = all(any(re.fullmatch(part, value) for value in known) for part in each)
    else:
        found = matcher.value in known
    if not found:
        raise WrongQueryError(f"{matcher.name} is never {matcher.value!r}")


def _pinned(node: promql.Expr) -> Labels:
    """The labels that `absent` can know."""
    if not isinstance(node, promql.VectorSelector):
        return frozenset()
    return frozenset(found.name for found in node.matchers.matchers if found.op == promql.MatchOp.Equal)


def _text(node: promql.Expr) -> str:
    assert isinstance(node, promql.StringLiteral)
    return node.val
