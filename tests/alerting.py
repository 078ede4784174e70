"""From a scrape to the pager on one machine: a real Prometheus, a real Alertmanager, a webhook.

```
with alerting(tmp_path, {"quintet-worker": ["127.0.0.1:9464"]}) as (prometheus, webhook):
    ...
    webhook.to("pager")
```
The targets may be real workers and monitors, or an `Exporter`. They have to answer before this is entered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.alertmanager import Alertmanager, Webhook
from tests.prometheus import FACTOR, Prometheus
from tests.streams import eventually


@contextmanager
def alerting(
    directory: Path, targets: Mapping[str, Sequence[str]], factor: float = FACTOR
) -> Iterator[tuple[Prometheus, Webhook]]:
    """All targets have been scraped, and nothing fires."""
    with Webhook() as webhook:
        alertmanager = Alertmanager(directory / "alertmanager", webhook)
        prometheus = Prometheus(directory / "prometheus", targets, alertmanager.address, factor)
        with prometheus:
            # Prometheus takes five seconds to find its targets. On our clock that is long enough for "nothing
            # answers" to fire, so nobody listens yet.
            eventually(lambda: _settled(prometheus, targets), 60)
            with alertmanager:
                yield prometheus, webhook


def _settled(prometheus: Prometheus, targets: Mapping[str, Sequence[str]]) -> bool:
    up = prometheus.query('up{job=~"quintet-.+"} == 1')
    return len(up) == sum(map(len, targets.values())) and not prometheus.firing()
