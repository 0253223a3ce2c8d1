"""Python that is legal, or nearly, and nested so deeply that a parser may crash on it."""

from __future__ import annotations

from collections.abc import Callable

# Each makes a statement of about the given depth. Those of TOO_DEEP must be refused at a thousand
# and more, those of LONG are only long and must be linted.
TOO_DEEP: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: f"x = {'(' * n}{')' * n}\n",
    "lists": lambda n: f"x = {'[' * n}{']' * n}\n",
    "subscripts": lambda n: f"x = {'a[' * n}0{']' * n}\n",
    "minus": lambda n: f"x = {'-' * n}1\n",
    "not": lambda n: f"x = {'not ' * n}1\n",
    "plus": lambda n: f"x = a{' + b' * n}\n",
    "plus_over_lines": lambda n: "x = (\n    a\n" + "    + b\n" * n + ")\n",
    "plus_continued": lambda n: "x = a" + " \\\n    + b" * n + "\n",
    "power": lambda n: f"x = a{' ** b' * n}\n",
    "and": lambda n: f"x = a{' and b' * n}\n",
    "attributes": lambda n: f"x = a{'.b' * n}\n",
    "calls": lambda n: f"x = a{'.b()' * n}\n",
    "calls_with_arguments": lambda n: f"x = a{'.b(1, 2)' * n}\n",
    "calls_of_calls": lambda n: f"x = a{'()' * n}\n",
    "indices": lambda n: f"x = a{'[0]' * n}\n",
    "lambdas": lambda n: f"x = {'lambda: ' * n}1\n",
    "conditions": lambda n: f"x = {'1 if a else ' * n}1\n",
    "comprehension": lambda n: f"x = [1 {'for a in b ' * n}]\n",
    "elif": lambda n: "if a:\n    pass\n" + "elif b:\n    pass\n" * n,
    "in_a_formatted_string": lambda n: f"x = f'{{{'(' * n}1{')' * n}}}'\n",
    "chain_in_a_formatted_string": lambda n: f"x = f'{{a{'.b()' * n}}}'\n",
}
LONG: dict[str, Callable[[int], str]] = {
    "list": lambda n: f"x = [{'1, ' * n}]\n",
    "list_over_lines": lambda n: "x = [\n" + "    (1, -2, 'three'),\n" * n + "]\n",
    "dictionary": lambda n: "x = {\n" + "    'a': {'b': [1, 2]},\n" * n + "}\n",
    "arguments": lambda n: f"f({'a=1, ' * n})\n",
    "targets": lambda n: f"{'x = ' * n}1\n",
    "statements": lambda n: "x = 1\n" * n,
    "semicolons": lambda n: f"{'x; ' * n}\n",
    "decorators": lambda n: "@d\n" * n + "def f(): pass\n",
    "comparisons": lambda n: f"x = a{' < b' * n}\n",
    "brackets_in_strings": lambda n: "x = [\n" + "    '((((', \"[[[[\", '''{{{{''',  # ((((\n" * n + "]\n",
    "formatted_strings": lambda n: "x = [\n" + "    f'({a!r}, [{b:>{c}}',\n" * n + "]\n",
    "docstring": lambda n: '"""' + "((((a.b.c.d((((\n" * n + '"""\n',
}
