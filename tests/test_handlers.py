"""Services that run a model for each request, and functions that run one once and hand out numbers."""

from __future__ import annotations

import pytest
from snippets import check

GUILTY = {
    "servicer": """
        class RankServicer(Base):
            def Predict(self, request, context):
                scores = self.model(torch.tensor(request.rows))  # TML201
                return Reply(scores=scores.tolist())
""",
    "deployment": """
        class ClassifierDeployment:
            def __init__(self, path):
                self.model = Net()
                self.model.load_state_dict(torch.load(path, map_location="cpu"))
                self.model.eval()

            def predict(self, x):
                logits = self.model(x)  # TML201
                return logits.argmax(-1).item()
""",
    "forward of a handler": """
        class SegHandler(BaseHandler):
            def inference(self, batch, *args, **kwargs):
                out = self.model.forward(batch.to(self.device))  # TML201
                return out.cpu().detach().numpy()
""",
    "function": """
        def embed(model, sentence):
            model.eval()
            vector = model(sentence)  # TML201
            return vector.detach().cpu().numpy()
""",
    "method that restores": """
        class Monitor:
            def score(self, net: nn.Module, x):
                net.eval()
                y = net(x)  # TML201
                net.train()
                return y.detach().mean().item()
""",
    "service with a tuple": """
        class TagService:
            def __init__(self, net):
                self.net = net.eval()

            def infer(self, text):
                tags, scores = self.net(text)  # TML201
                return tags.tolist(), scores.max().item()
""",
}

INNOCENT = {
    "a servicer under no_grad": """
        class RankServicer(Base):
            @torch.no_grad()
            def Predict(self, request, context):
                scores = self.model(torch.tensor(request.rows))
                return Reply(scores=scores.tolist())
    """,
    "a handler that calls what is guarded": """
        class TextHandler(BaseHandler):
            @torch.inference_mode()
            def _run(self, x):
                return self.model(x)

            def inference(self, x):
                return self._run(x).argmax(-1).item()
    """,
    "the result goes on with its graph": """
        class ScoreHandler(BaseHandler):
            def inference(self, x):
                self.count = x.shape[0].item()
                return self.model(x)
    """,
    "a handler that attributes": """
        class SaliencyHandler(BaseHandler):
            def inference(self, x):
                x.requires_grad_()
                scores = self.model(x)
                scores.max().backward()
                return x.grad.numpy()
    """,
    "a monitor that trains on it": """
        class Monitor:
            def score(self, net: nn.Module, x, y, optimizer):
                net.eval()
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                return loss.detach().numpy()
    """,
    "a function for frozen features": """
        def embed(model, sentence):
            model.requires_grad_(False)
            model.eval()
            return model(sentence).detach().cpu().numpy()
    """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=list(GUILTY))
def test_guilty(snippet: str) -> None:
    check(snippet)


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=list(INNOCENT))
def test_innocent(snippet: str) -> None:
    check(snippet)
