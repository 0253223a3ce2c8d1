"""A grad mode that decorates a class is on while an object is made, and in no other method."""

from __future__ import annotations

from snippets import check, check_innocent


def test_methods_of_a_decorated_class_record() -> None:
    check(
        """
        @torch.no_grad()
        class Detector:  # TML202
            def __init__(self, weights):
                self.net = torch.load(weights, map_location="cpu")
                self.net.eval()

            def scores(self, frames):
                rows = []
                for frame in frames:
                    rows.append(self.net(frame.unsqueeze(0)).cpu())  # TML102
                return self.as_numbers(torch.cat(rows))

            def as_numbers(self, rows):
                return [row.tolist() for row in rows]
        """
    )


def test_construction_runs_in_the_mode() -> None:
    check(
        """
        @torch.inference_mode()
        class Bank:  # TML202
            def __init__(self, net: Net, loader):
                self.rows = []
                for batch in loader:
                    self.rows.append(net(batch).cpu())
        """
    )


def test_methods_that_have_it_themselves() -> None:
    check_innocent(
        """
        class Detector:
            def __init__(self, weights):
                self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
                self.net.load_state_dict(torch.load(weights, map_location="cpu"))

            @torch.no_grad()
            def detect(self, frames):
                boxes = []
                for frame in frames:
                    boxes.append(self.net(frame).cpu())
                return torch.cat(boxes)
        """
    )
