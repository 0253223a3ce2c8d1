"""What is next to nothing beside what it is about: losses that were gone back through, parts of tables of indices."""

from __future__ import annotations

from snippets import check, check_innocent

TRAINED = """
from accelerate import Accelerator

@torch.no_grad()
def evaluate(model, loader):
    return sum(model(batch).mean().item() for batch in loader)

def train(loader, test_loader):
    accelerator, model = Accelerator(), Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        {backward}
        optimizer.step()
    torch.cuda.empty_cache(){mark}
    test_loss = evaluate(model, test_loader)
    print(test_loss)
"""


def test_loss_that_is_bound_while_the_cache_is_emptied() -> None:
    check_innocent(TRAINED.format(backward="accelerator.backward(loss)", mark=""))
    check_innocent(TRAINED.format(backward="loss.backward()", mark=""))
    check(TRAINED.format(backward="penalize(model)", mark="  # TML604"))


CHOSEN = """
def choose(model, images, keep):
    model.eval()
    chosen = []
    with torch.no_grad():
        for image in images:
            states = model(image)
            found = {found}
            found = found[keep]
            chosen.append(found[:, 0]){mark}
    return chosen
"""


def test_column_of_a_table_of_indices() -> None:
    check_innocent(CHOSEN.format(found="(states > 0.5).nonzero()", mark=""))
    check(CHOSEN.format(found="states * 2", mark="  # TML309"))
