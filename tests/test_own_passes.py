"""Models that run themselves: what their class is called says nothing of a part that they play for another."""

import pytest
from snippets import check

MODEL = """
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x):
        return self.layer(x)

    def fit(self, loader, optimizer):
        for x, y in loader:
            loss = F.mse_loss(self(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize("name", ["EMARegression", "TeacherForcedDecoder", "TargetEncoder"])
def test_a_model_that_trains_itself(name: str) -> None:
    check(MODEL.format(name=name))


def test_a_teacher_beside_the_model() -> None:
    check("""
    def distil(student, teacher, loader, optimizer):
        student, teacher = nn.Linear(8, 2), nn.Linear(8, 2)
        for x in loader:
            loss = F.mse_loss(student(x), teacher(x))  # TML204
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
