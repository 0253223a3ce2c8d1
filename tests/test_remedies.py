"""What each remedy makes of a text: the flagged statement is the one on the line that ends in `# here`."""

from __future__ import annotations

import ast

import pytest

from torchmemlint.linter.fixes import propose
from torchmemlint.linter.fixes.remedies import REMEDIES
from torchmemlint.linter.fixes.text import Text, apply_edits

assert propose._FAMILIES  # importing it registers the remedies


def mended(kind: str, about: str, before: str) -> str | None:
    """The text after the first candidate; None without one."""
    text = Text(before)
    row = next(number for number, line in enumerate(text.lines, 1) if line.rstrip().endswith("# here"))
    node = next(each for each in ast.walk(text.tree) if isinstance(each, ast.stmt) and each.lineno == row)
    candidate = next(REMEDIES[kind](text, node, about), None)
    if candidate is None:
        return None
    after = apply_edits(before, candidate.edits)
    ast.parse(after)
    return after


def changed(kind: str, about: str, before: str, *changes: tuple[str, str]) -> None:
    expected = before
    for old, new in changes:
        assert expected.count(old) == 1, old
        expected = expected.replace(old, new)
    assert mended(kind, about, before) == (expected if changes else None)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("load(path)", 'load(path, map_location="cpu")'),
        ("load(path, )", 'load(path, map_location="cpu", )'),
        ("load(f=path)", 'load(f=path, map_location="cpu")'),
        ("load()", 'load(map_location="cpu")'),
        ("load(*paths)", 'load(*paths, map_location="cpu")'),
        ("load((path))", None),  # a bracket is in the way
        ("load(path for path in paths)", None),
    ],
)
def test_add_argument(call: str, expected: str | None) -> None:
    before = f"states = {call}  # here\n"
    try:
        assert mended("add-argument", 'map_location="cpu"', before) == (expected and before.replace(call, expected))
    except SyntaxError:
        assert expected is None  # such a candidate is never offered: what it leaves cannot be parsed


def test_a_queue_without_a_limit() -> None:
    changed("add-argument", "maxsize=8", "q = SimpleQueue()  # here\n")
    changed("add-argument", "maxsize=8", "q = mp.Queue()  # here\n", ("Queue()", "Queue(maxsize=8)"))


@pytest.mark.parametrize(
    ("parameters", "made", "expected"),
    [
        ("self, window=4", "deque()", "deque(maxlen=window)"),
        ("self, maximize", "collections.deque([])", "collections.deque([], maxlen=100)"),
        ("self", "deque(\n            [],  # none\n        )", None),
        ("self", "[]", None),
    ],
)
def test_bound(parameters: str, made: str, expected: str | None) -> None:
    before = (
        f"class A:\n    def __init__({parameters}):\n        self.kept = {made}\n\n"
        "    def add(self, x):\n        self.kept.append(x)  # here\n"
    )
    changed("bound", "self.kept", before, *([(made, expected)] if expected else []))


OWNED = (
    "class A(B):\n    kept: ClassVar[list] = []\n\n    def __init__(self):\n        {init}\n\n"
    "    def add(self, x):\n        self.kept.append(x)  # here\n"
)


@pytest.mark.parametrize(
    "init", ["pass", "super().__init__()", '"""Words."""', "super().__init__()\n        self.x = 1"]
)
def test_own_container(init: str) -> None:
    after = mended("own-container", "self.kept", OWNED.format(init=init))
    assert after is not None and "ClassVar" not in after
    made = "        self.kept = []\n"
    assert after.index(made) > after.index("super()" if "super" in init else "__init__")
    assert mended("own-container", "self.kept", OWNED.format(init=init) + "print(A.kept)\n") is None


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("def f(x, kept=[]):\n", "def f(x, kept=None):\n    if kept is None:\n        kept = []\n"),
        (
            'def f(x, *, kept=dict(a=1)):\n    """Words."""\n',
            'def f(x, *, kept=None):\n    """Words."""\n    if kept is None:\n        kept = dict(a=1)\n',
        ),
        ("def f(kept=[], *rest):\n    yield 1\n", None),
    ],
)
def test_none_default(head: str, expected: str | None) -> None:
    body = "    kept.append(x)  # here\n"
    assert mended("none-default", "kept", head + body) == (expected and expected + body)


def test_restart() -> None:
    changed(
        "restart",
        "",
        "from itertools import cycle\nstream = cycle(tqdm(loader))  # here\n",
        ("import cycle", "import count, cycle"),
        ("cycle(tqdm(loader))", "(batch for _ in count() for batch in tqdm(loader))"),
    )
    changed("restart", "", "from itertools import tee\nstream = tee(loader)  # here\n")


USED = "def f(p):\n    c = load(p)  # here\n    m.load(c)\n    for k in c:\n        pass{}\n    train(m)"


def test_delete_after_use() -> None:
    changed("delete-after-use", "c", USED.format(""), ("        pass\n", "        pass\n    del c\n"))
    changed("delete-after-use", "c", USED.format("\n    g = lambda: c"))
    changed("delete-after-use", "c", USED.format("\n    print(locals())"))
    last = "def f(p):\n    c = load(p)  # here\n    m.load(c)"
    changed("delete-after-use", "c", last, ("m.load(c)", "m.load(c)\n    del c"))
    changed("delete-after-use", "c", "def f(p):\n    c = load(p)  # here\n    return m(c)\n")
    changed("delete-after-use", "c", "def f(p):\n    c = load(p)  # here\n    for x in xs:\n        train(x, c)\n")


@pytest.mark.parametrize(
    ("body", "after", "possible"),
    [
        ("y = m(x)", "", True),
        ("y = m(x)\n        if y is None:\n            continue\n        put(y)", "", True),
        ("if x:\n            y = m(x)", "", False),  # made in some rounds only
        ("y = m(x, y)", "", False),  # carried on
        ("y = m(x)", "    return y", False),  # needed later
        ("y = m(x)\n        continue", "", False),
    ],
)
def test_end_round(body: str, after: str, possible: bool) -> None:
    before = f"def f(q):\n    while True:\n        x = q.get()  # here\n        {body}\n{after}"
    last = body.splitlines()[-1].strip() + "\n"
    changed("end-round", "x y", before, *([(last, f"{last}        del x, y\n")] if possible else []))


def test_the_round_ends_before_others_hear_of_it() -> None:
    before = "while True:\n    x = q.get()  # here\n    q.task_done()\n"
    changed("end-round", "x", before, ("    q.task", "    del x\n    q.task"))


def test_drop_also() -> None:
    changed("drop-also", "opt", "del model  # here\n", ("model", "model, opt"))
    changed("drop-also", "a.opt", "if 1:\n    a.m = None  # here", ("  # here", "  # here\n    a.opt = None"))


def test_take_result() -> None:
    changed("take-result", "", "free(a, self.b)  # here\n", ("free(", "a, self.b = free("))
    changed("take-result", "", "free(*a)  # here\n")
    changed("take-result", "", "free(a[0])  # here\n")


def test_move_last() -> None:
    before = "def f():\n    empty_cache()  # here\n    n = 1\n    gc.collect()"
    after = "def f():\n    n = 1\n    gc.collect()\n    empty_cache()  # here"
    assert mended("move-last", "collect", before) == after
    before = "if 1:\r\n\tempty_cache()  # here\r\n\tdel x, y\r\n\tgc.collect()\r\n\tprint()\r\n"
    after = "if 1:\r\n\tdel x, y\r\n\tgc.collect()\r\n\tempty_cache()  # here\r\n\tprint()\r\n"
    assert mended("move-last", "y", before) == after
    changed("move-last", "x", "empty_cache()  # here\nif 1:\n    del x\n")
    changed("move-last", "collect", "print(); empty_cache()  # here\ngc.collect()\n")


def test_pop_in_finally() -> None:
    before = "def f(c):\n    c.push()  # here\n    if 1:\n        return 1\n    c.pop()  # now\n    return 2\n"
    changed(
        "pop-in-finally",
        "c",
        before,
        ("# here\n    if 1:\n        return 1\n    c.pop()  # now\n",
         "# here\n    try:\n        if 1:\n            return 1\n    finally:\n        c.pop()\n"),
    )  # fmt: skip
    changed("pop-in-finally", "c", "def f(c):\n    c.push()  # here\n    if 1:\n        c.pop()\n")


def test_free_in_finally() -> None:
    before = "def f(n):\n    p = a.alloc(n)  # here\n    return use(p)\n"
    wrapped = "    try:\n        return use(p)\n    finally:\n        a.free(p)\n"
    changed("free-in-finally", "free", before, ("    return use(p)\n", wrapped))
    for given_away in ("return p", "self.p = p", "ps.append(p)"):
        changed("free-in-finally", "free", before.replace("return use(p)", given_away))


HOOK = "def f(model, x):\n    seen = []\n    model.a.register_forward_hook(g)  # here\n{}"


def test_remove_hook() -> None:
    changed(
        "remove-hook",
        "",
        HOOK.format("    y = 1\n    model(x)\n    return seen[0]\n"),
        ("    model.a", "    handle = model.a"),
        (
            "    y = 1\n    model(x)\n",
            "    try:\n        y = 1\n        model(x)\n    finally:\n        handle.remove()\n",
        ),
    )
    changed("remove-hook", "", HOOK.format("    return seen\n"))  # for calls to come
    changed("remove-hook", "", HOOK.format("    other(x)\n"))


def test_unregister() -> None:
    before = "class A:\n    def __init__(self):\n        atexit.register(self.end)  # here\n\n    def end(self):\n{}"
    line = "        atexit.unregister(self.end)\n"
    changed("unregister", "", before.format("        pass\n"), ("        pass\n", f"{line}        pass\n"))
    changed("unregister", "", before.format('        """End."""'), ('"""End."""', f'"""End."""\n{line}'.rstrip()))
    changed("unregister", "", before.replace("def end", "def stop").format("        pass\n"))


def test_discard_when_done() -> None:
    before = "def f(self):\n    job = run()\n    self.jobs.{}(job)  # here\n{}"
    for method, gone in (("append", "remove"), ("add", "discard")):
        text = before.format(method, "    print(self.jobs.copy)\n")
        changed("discard-when-done", "", text, ("# here\n", f"# here\n    job.add_done_callback(self.jobs.{gone})\n"))
    changed("discard-when-done", "", before.format("append", "    wait(self.jobs)\n"))


def test_reset_gradients() -> None:
    before = "def f(o):\n    for x in y:\n        o.zero_grad()\n        x.backward()  # here\n    return 1\n"
    changed("reset-gradients", "", before, ("    return", "    o.zero_grad()\n    return"))
    changed("reset-gradients", "", before.replace("        o.zero_grad()\n", ""))


def test_small_ones() -> None:
    changed("semicolon", "", "x  # here\n", ("x", "x;"))
    changed("rename", "empty_cache", "torch.cuda.clear()  # here\n", ("clear", "empty_cache"))
    changed("call-on-stored", "cpu()", "kept.append(y)  # here\n", ("(y)", "(y.cpu())"))
    changed("drop-statement", "", "for x in y:\n    f()  # here\n    g()\n", ("    f()  # here\n", ""))
    changed("drop-statement", "", "for x in y:\n    f()  # here\n")
