"""Verdicts as one self-contained page: the code, the curve of live bytes, who holds it, and what a fix changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

from ..finding import Finding, Verdict
from .judge import SMALL, number, readable

_Curve = Sequence[tuple[int, int]]

_WIDTH, _HEIGHT = 640, 150
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #c0392b; --good: #23834b; --open: #a66a00; --fix: #2b78c5 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin: 0 } .where { opacity: .7 }
article { border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.2rem; margin: 1.2rem 0 }
.status { color: #fff; border-radius: 4px; padding: .1rem .5rem; font-size: .85rem; background: var(--bad) }
.refuted { background: var(--good) } .inconclusive { background: var(--open) }
pre { overflow-x: auto; background: #8881; padding: .6rem; border-radius: 6px; font-size: .85rem }
pre b { background: #f5b04155; display: inline-block; min-width: 100% }
figure { margin: 1rem 0 } svg { width: 100%; height: auto }
svg text { font-size: 11px; fill: currentColor; opacity: .7 }
.key { display: inline-block; width: 1.2em; height: 3px; vertical-align: middle; margin: 0 .4em 0 .8em }
.key.bad { background: var(--bad) } .key.fix { background: var(--fix) }
.path li { font-family: ui-monospace, monospace; font-size: .85rem }
table { border-collapse: collapse } td { padding: .1rem 1.2rem .1rem 0 } figcaption { font-size: .85rem; opacity: .8 }
"""


def render(findings: Sequence[Finding]) -> str:
    """The page. It needs nothing from anywhere else."""
    confirmed = sum(bool(one.verdict and one.verdict.confirmed) for one in findings)
    body = "".join(_article(finding, finding.verdict) for finding in findings if finding.verdict is not None)
    head = f"<h1>torchmemlint verify: {confirmed} of {len(findings)} confirmed</h1>"
    nothing = "" if body else "<p>Nothing that was flagged was run.</p>"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>torchmemlint verify</title><style>{_STYLE}</style>{head}{nothing}{body}</html>\n"
    )


def _article(finding: Finding, verdict: Verdict) -> str:
    name = f"{finding.code} {finding.name}" if finding.code else "growth that no rule reports"
    parts = [
        f'<h2><span class="status {escape(verdict.status)}">{escape(verdict.status)}</span> {escape(name)}</h2>',
        f'<p class="where">{escape(finding.filename)}:{finding.start.row} · {escape(verdict.tier)} · '
        f"{escape(verdict.device)}, torch {escape(verdict.torch or '?')}, {verdict.steps or 0} steps</p>",
        f"<p>{escape(finding.message)}</p><p><strong>{escape(verdict.reason)}</strong></p>",
        _code(finding),
        _kept(verdict),
        _curve(verdict),
        _figures(verdict),
    ]
    if verdict.path:
        parts.append("<p>Held by</p><ol class=path>")
        parts += [f"<li>{escape(label)}</li>" for label in verdict.path]
        parts.append("</ol>")
    if verdict.after_fix is not None:
        fix = finding.fix.message if finding.fix is not None else "no_grad at this line"
        status, reason = escape(verdict.after_fix.status), escape(verdict.after_fix.reason)
        said = f'<p>With the fix ({escape(fix)}): <span class="status {status}">{status}</span> {reason}</p>'
        parts.append(said)
    return f"<article>{''.join(parts)}</article>"


def _code(finding: Finding) -> str:
    """The flagged rows, with some around them."""
    try:
        lines = Path(finding.filename).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    first, last = max(finding.start.row - 4, 0), min(finding.end.row + 3, len(lines))
    rows = (
        f"{'<b>' if finding.start.row <= row <= finding.end.row else ''}{row:>5}  {escape(lines[row - 1])}"
        f"{'</b>' if finding.start.row <= row <= finding.end.row else ''}"
        for row in range(first + 1, last + 1)
    )
    return "<pre>" + "\n".join(rows) + "</pre>"


def _kept(verdict: Verdict) -> str:
    """What is kept through the flagged line at its hits: autograd nodes where they grow, else bytes."""
    nodes = bool(verdict.nodes_per_step)
    if verdict.status != "growing" or not (nodes or verdict.bytes_per_step):
        return ""
    which = 2 if nodes else 1
    fixed = verdict.after_fix.hits if verdict.after_fix is not None else ()
    said = f"{'Autograd nodes' if nodes else 'Bytes'} that are kept through this line, from hit to hit"
    curves = [[(hit[0], hit[which]) for hit in hits] for hits in (verdict.hits, fixed)]
    return _figure(curves[0], curves[1], said, number if nodes else readable)


def _curve(verdict: Verdict) -> str:
    """Live bytes over the operations of the run, as it is and with the fix."""
    fixed = verdict.after_fix.curve if verdict.after_fix is not None else ()
    if verdict.status == "growing" and verdict.nodes_per_step and (verdict.bytes_per_step or 0) <= SMALL:
        return ""  # it is the nodes that become more
    return _figure(verdict.curve, fixed, "Live bytes of tensor storages over the run", readable)


def _figure(curve: _Curve, fixed: _Curve, said: str, told: Callable[[float], str]) -> str:
    """Two curves on one scale, the red one as it is and the blue one with the fix."""
    if len(curve) < 2:
        return ""
    top = max(size for one in (curve, fixed) for _, size in one) or 1
    lines = [_line(curve, top, "var(--bad)", "as it is")]
    key = '<span class="key bad"></span>as it is'
    if len(fixed) > 1:
        lines.append(_line(fixed, top, "var(--fix)", "with the fix"))
        key += ' <span class="key fix"></span>with the fix'
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(said)}">{"".join(lines)}'
        f'<path d="M0 {_HEIGHT - 1}H{_WIDTH}" stroke="var(--line)"/>'
        f'<text x="4" y="14">{escape(told(top))}</text></svg>'
        f"<figcaption>{escape(said)}. {key}</figcaption></figure>"
    )


def _line(curve: _Curve, top: int, colour: str, name: str) -> str:
    end = curve[-1][0] or 1
    points = " ".join(f"{x / end * _WIDTH:.1f},{(1 - y / top) * (_HEIGHT - 8) + 4:.1f}" for x, y in curve)
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"><title>{name}</title></polyline>'
    )


def _figures(verdict: Verdict) -> str:
    rows = "".join(f"<tr><td>{escape(name)}<td>{escape(value)}" for name, value in _named(verdict))
    return f"<table>{rows}</table>" if rows else ""


def _named(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if verdict.bytes_per_step:
        yield "tensor storages", f"{readable(verdict.bytes_per_step)} per step"
    if verdict.nodes_per_step:
        yield "autograd nodes", f"{number(verdict.nodes_per_step)} per step"
    if verdict.confirmed and verdict.host_bytes_per_step and verdict.host_bytes_per_step > 0:
        yield "host heap (estimate)", f"{readable(verdict.host_bytes_per_step)} per step"
    if verdict.held_bytes:
        yield "held", readable(verdict.held_bytes)
    if verdict.peak_bytes:
        yield "peak", readable(verdict.peak_bytes)
    if verdict.after_fix is not None and verdict.after_fix.peak_bytes:
        yield "peak with the fix", readable(verdict.after_fix.peak_bytes)
