"""How many findings of each rule: instead of the findings themselves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from ...finding import Finding


def render(findings: Sequence[Finding], output_format: str) -> str:
    """The counts, the largest first: as JSON where that is the format asked for, else as a table."""
    counts = Counter((finding.code, finding.name) for finding in findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if output_format == "json":
        return (
            json.dumps([{"code": code, "name": name, "count": count} for (code, name), count in rows], indent=2) + "\n"
        )
    width = max((len(str(count)) for _, count in rows), default=0)
    return "".join(f"{count:>{width}}  {code}  {name}\n" for (code, name), count in rows)
