"""What Qt keeps: children of what stays, and objects that a function refers to which a signal of their own calls."""

from __future__ import annotations

import textwrap

import pytest
from snippets import codes

IMPORTS = """\
from functools import partial
from PySide6.QtCore import QObject, QThread, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QMenu, QPushButton
"""

MENU = """
class Picture:
    def __init__(self, pixels):
        self.pixels = pixels
class PictureMenu(QMenu):
    def __init__(self, picture, board):
        super().__init__()
        self.picture, self.board = picture, board
        %s
    def save(self, kind="png"):
        print(kind, self.picture.pixels.shape)
class Board:
    def __init__(self, net):
        self.net, self.pictures = net, {}
    @torch.no_grad()
    def paint(self, name):
        self.pictures[name] = Picture(self.net(torch.randn(1, 3, 64, 64)))
        return self.pictures[name]
    def right_click(self, picture):
        menu = PictureMenu(picture, self)
        menu.popup()
        return menu
def main(steps):
    board = Board(nn.Conv2d(3, 3, 3))
    for i in range(steps):
        menu = board.right_click(board.paint(str(i)))
        menu.save()
        board.pictures.pop(str(i))
"""

DIALOG = """
class Result(QDialog):
    def __init__(self, image, parent=None):
        super().__init__(parent)
        self.image = image
        self.label = QPushButton("close", self)
        %s
    def take(self):
        return float(self.image.mean())
class Window(QMainWindow):
    def __init__(self, net):
        super().__init__()
        self.net, self.means = net, []
    def show_result(self, image):
        with torch.no_grad():
            mask = self.net(image)
        %s
        dialog.show()
        self.means.append(dialog.take())
        %s
def main(steps):
    window = Window(nn.Conv2d(3, 3, 3))
    for _ in range(steps):
        window.show_result(torch.rand(1, 3, 64, 64))
"""
ONE = "dialog = Result(mask, self)"

GUILTY = [
    MENU % 'action = QAction("save", self); action.triggered.connect(lambda checked=False: self.save())',
    MENU % "for kind in ('png', 'pt'): self.addAction(kind).triggered.connect(partial(self.save, kind))",
    MENU % "self.aboutToHide.connect(lambda: self.board.pictures.clear())",
    MENU % "self.timer = QTimer(); self.timer.timeout.connect(lambda: self.save())",
    DIALOG % ("pass", ONE, "dialog.close()"),
    DIALOG % ("pass", "dialog = Result(mask, parent=self)", "dialog.hide()"),
    DIALOG % ("self.label.clicked.connect(lambda: self.close())", "dialog = Result(mask)", "dialog.close()"),
]

INNOCENT = [
    MENU % 'action = QAction("save", self); action.triggered.connect(self.save)',
    MENU % 'action = QAction("save", self); action.triggered.connect(lambda: print("saved"))',
    # a function over the board, which is one
    MENU % 'action = QAction("save", self); action.triggered.connect(lambda: board.pictures.clear())',
    # somebody else's signal
    MENU % "board.changed.connect(self.save)",
    DIALOG % ("pass", "dialog = Result(mask)", "dialog.close()"),
    DIALOG % ("pass", ONE, "dialog.deleteLater()"),
    DIALOG % ("self.setAttribute(Qt.WA_DeleteOnClose)", ONE, "dialog.close()"),
    DIALOG % ("pass", ONE, "dialog.close(); dialog.setParent(None)"),
    DIALOG % ("self.label.clicked.connect(self.close)", "dialog = Result(mask)", "dialog.close()"),
    # numbers only
    (DIALOG % ("pass", ONE, "dialog.close()")).replace("self.image = image", "self.image = image.item()"),
    # one for the window
    """
    class Panel(QDialog):
        def __init__(self, net, parent):
            super().__init__(parent)
            self.net = net
            self.last = torch.zeros(3, 64, 64)
            self.button = QPushButton("run", self)
            self.button.clicked.connect(lambda: self.run())
        def run(self):
            with torch.no_grad():
                self.last = self.net(self.last)
    class Window(QMainWindow):
        def __init__(self, net):
            super().__init__()
            self.panel = Panel(net, self)
    def main(steps):
        window = Window(nn.Conv2d(3, 3, 3, padding=1))
        for _ in range(steps):
            window.panel.run()
    """,
]


@pytest.mark.parametrize("source", GUILTY)
def test_qt_keeps_what_is_made_each_time(source: str) -> None:
    assert "TML314" in codes(IMPORTS + textwrap.dedent(source))


@pytest.mark.parametrize("source", INNOCENT)
def test_what_is_deleted_or_made_once_or_not_referred_to_goes(source: str) -> None:
    assert codes(IMPORTS + textwrap.dedent(source)) == set()
