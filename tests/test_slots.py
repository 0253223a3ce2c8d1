"""Values that Qt's signals hand to slots, before or after somebody connects."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

JOB = """
        from PySide6.QtCore import QObject, QThread, Signal

        class Job(QThread):
            ready = Signal(object)
            progress = Signal(int)

            def __init__(self, net, image):
                super().__init__()
                self.net, self.image = net, image

            def run(self):
                {guard}
                    self.progress.emit(1)
                    self.ready.emit(self.net(self.image))
"""

GUILTY = {
    "a list of answers, which each job that ends adds to": JOB.format(guard="if self.image is not None:")
    + """
        class Panel(QObject):
            def __init__(self):
                super().__init__()
                self.net = nn.Conv2d(3, 1, 3)
                self.answers = []

            def ask(self, image):
                job = Job(self.net, image)
                job.ready.connect(self.show)
                job.start()

            def show(self, answer):
                self.answers.append(answer)  # TML102
        """,
    "one that is connected when the job has started": JOB.format(guard="if self.image is not None:")
    + """
        class Panel(QObject):
            def __init__(self):
                super().__init__()
                self.net = nn.Conv2d(3, 1, 3)
                self.answers = []

            def ask(self, image):
                job = Job(self.net, image)
                job.start()
                job.ready.connect(lambda answer: self.answers.append(answer))  # TML102
        """,
    "workers that were moved to threads, all of which are kept with their image": """
        from PyQt6.QtCore import QObject, QThread, pyqtSignal

        class Worker(QObject):
            done = pyqtSignal(list)

            def __init__(self, net, image):
                super().__init__()
                self.net, self.image = net, image

            @torch.no_grad()
            def run(self):
                self.done.emit(self.net(self.image).argmax(1).tolist())

        class Window(QObject):
            def __init__(self):
                super().__init__()
                self.net = nn.Conv2d(3, 4, 3).eval()
                self.jobs = []

            def on_open(self, image):
                thread, worker = QThread(), Worker(self.net, image)
                worker.moveToThread(thread)
                thread.started.connect(worker.run)
                worker.done.connect(print)
                self.jobs.append((thread, worker))  # TML303
                thread.start()  # TML505
        """,
}
INNOCENT = {
    "numbers": JOB.format(guard="with torch.no_grad():")
    + """
        class Panel(QObject):
            def __init__(self):
                super().__init__()
                self.net = nn.Conv2d(3, 1, 3)
                self.answers, self.steps = [], []

            def ask(self, image):
                job = Job(self.net, image)
                job.ready.connect(self.show)
                job.progress.connect(self.steps.append)
                job.start()

            def show(self, answer):
                self.answers.append(answer.mean().item())
        """,
    "the last answer": JOB.format(guard="with torch.inference_mode():")
    + """
        class Panel(QObject):
            def __init__(self):
                super().__init__()
                self.net = nn.Conv2d(3, 1, 3)
                self.answer = None

            def ask(self, image):
                job = Job(self.net, image)
                job.ready.connect(self.show)
                job.start()

            def show(self, answer):
                self.answer = answer.cpu()
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_what_a_slot_keeps(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])
