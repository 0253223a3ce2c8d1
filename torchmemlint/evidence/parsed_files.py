"""What files are parsed to: thousands of small objects, all of them or a part."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import Block, Program, text
from ..facts.walk import last_name, statements

PARSERS = ("json.load", "json.loads", "orjson.loads", "ujson.loads", "yaml.safe_load", "ast.literal_eval")
_STEPS = 4  # from a part to the file


def parses(program: Program | None, value: Expr) -> bool:
    """`json.load(f)`, `list(csv.DictReader(f))`, `frame.to_dict("records")`: thousands of small objects. Without the
    file's `program` names are taken as they are written."""
    if value[0] == m.CALL and value[2] == (m.NAME, "list") and value[3]:
        value = value[3][0]
    if value[0] != m.CALL:
        return False
    dotted = text(value[2]) if program is None else program.dotted(value[2])
    if dotted in PARSERS or dotted in ("csv.DictReader", "csv.reader"):
        return True
    return last_name(value[2]) == "to_dict" and bool(value[3] or value[4])


def is_list_of_reader(program: Program, value: Expr, body: Block) -> bool:
    """`list(reader)` of `reader = csv.DictReader(f)`."""
    listed = value[0] == m.CALL and value[2] == (m.NAME, "list") and len(value[3]) == 1
    return listed and value[3][0][0] == m.NAME and of_parsed(program, value[3][0], body)


def is_row(name: Expr, body: Block) -> bool:
    """Whether a loop binds a name to one part of a parsed file after the other, `for row in data["rows"]`."""
    over = [one[3] for one in statements(body) if one[0] == m.FOR and one[2] == name]
    return len(over) == 1 and of_parsed(None, over[0], body)


def of_parsed(program: Program | None, value: Expr, body: Block) -> bool:
    """Whether a value is a part of a parsed file: `data["annotations"]`, `[one for one in data if one["box"]]`."""
    for _ in range(_STEPS):
        if value[0] == m.ITEM:
            value = value[1]
        elif value[0] == m.COMP and len(value[5]) == 1 and value[5][0][0] == value[3]:
            value = value[5][0][1]
        elif value[0] == m.NAME:
            bound = [one[3] for one in statements(body) if one[0] == m.ASSIGN and value in one[2]]
            if len(bound) != 1:
                return False
            value = bound[0]
        else:
            break
    return parses(program, value)
