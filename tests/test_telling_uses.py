"""What the use of a value tells about it, where its origin is not seen: marked where that is enough to report."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent


def test_what_runs_with_gradients_off_is_a_model() -> None:
    check("""
        import torch

        _CACHE = {}

        def embedding(encoder, text):
            if text not in _CACHE:
                with torch.no_grad():
                    _CACHE[text] = encoder(text)  # TML301
            return _CACHE[text]

        def collect(x, model, bank=[]):
            with torch.no_grad():
                bank.append(model(x))  # TML306
            return torch.stack(bank).mean(0)
    """)
    check_innocent("""
        import torch

        _CACHE = {}

        def tokens(encoder, text):
            if text not in _CACHE:
                _CACHE[text] = encoder(text)
            return _CACHE[text]
    """)


def test_copies_of_states_and_models() -> None:
    check("""
        import copy

        class Average:
            def __init__(self):
                self.states = []
                self.models = []

            def collect(self, model):
                self.states.append({k: v.clone() for k, v in model.state_dict().items()})  # TML303
                self.models.append(copy.deepcopy(model))  # TML303

        def fit(model, batches, optimizer, loss_fn):
            average = Average()
            for x, y in batches:
                loss = loss_fn(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                average.collect(model)
    """)
    check_innocent("""
        import copy

        class Best:
            def __init__(self):
                self.state = None
                self.options = []

            def collect(self, model, options):
                self.state = {k: v.clone() for k, v in model.state_dict().items()}
                self.options.append(copy.deepcopy(options))

        def fit(model, batches, optimizer, loss_fn, options):
            best = Best()
            for x, y in batches:
                loss = loss_fn(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                best.collect(model, options)
    """)


_SESSIONS = """
import torch

class Server:
    def __init__(self, model):
        self.model = model
        self.sessions = {{}}

    @torch.inference_mode()
    def answer(self, session_id, tokens):
        past = self.sessions.get(session_id)
        out = self.model(tokens, past_key_values=past)
        self.sessions[{key}] = out.past_key_values{mark}
        {after}
        return out.logits[:, -1].argmax(-1)
"""


def test_a_table_of_sessions_that_is_asked_first() -> None:
    check(_SESSIONS.format(key="session_id", mark="  # TML311", after="pass"))
    check_innocent(_SESSIONS.format(key='"last"', mark="", after="pass"))
    bounded = "if len(self.sessions) > 8: self.sessions.pop(next(iter(self.sessions)))"
    check_innocent(_SESSIONS.format(key="session_id", mark="", after=bounded))


_POOL = """
import functools
from concurrent.futures import ThreadPoolExecutor
import torch

class Ensemble:
    def __init__(self, models):
        self.models = models
        self.pool = ThreadPoolExecutor(4)

    def one(self, model, x):
        {mode}return model(x)

    def predict(self, x):
        with torch.no_grad():
            futures = [{submit} for model in self.models]{mark}
            return torch.stack([future.result() for future in futures]).mean(0)
"""


@pytest.mark.parametrize("submit", ["self.pool.submit(model, x)", "self.pool.submit(self.one, model, x)"])
def test_models_in_threads_that_were_started_with_gradients_off(submit: str) -> None:
    check(_POOL.format(submit=submit, mode="", mark="  # TML203"))


@pytest.mark.parametrize("submit", ["self.pool.submit(len, x)", "self.pool.submit(self.one, model, x)"])
def test_threads_that_turn_gradients_off_or_run_no_model(submit: str) -> None:
    check_innocent(_POOL.format(submit=submit, mode="with torch.no_grad(): ", mark=""))


@pytest.mark.parametrize("work", ["task", "functools.partial(task, model)", "lambda x: task(model, x)"])
def test_streams_of_tasks(work: str) -> None:
    check(f"""
        import functools
        from concurrent.futures import ThreadPoolExecutor
        import torch

        def task(model, x):
            stream = torch.cuda.Stream()  # TML506
            with torch.no_grad(), torch.cuda.stream(stream):
                y = model(x.cuda(non_blocking=True))
            stream.synchronize()
            return y.cpu()

        def run(model, xs):
            with ThreadPoolExecutor(8) as pool:
                return list(pool.map({work}, xs))
    """)


@pytest.mark.parametrize("sent", ["batch.to(self.device, non_blocking=True)", "torch.as_tensor(batch)"])
def test_what_a_thread_puts_into_a_queue_is_said_once(sent: str) -> None:
    check(f"""
        import queue
        import threading
        import torch

        class Prefetcher:
            def __init__(self, loader, device):
                self.loader = loader
                self.device = device
                self.queue = queue.Queue()
                threading.Thread(target=self.fill, daemon=True).start()

            def fill(self):
                for batch in self.loader:
                    self.queue.put({sent})  # TML504
                self.queue.put(None)

            def __iter__(self):
                return iter(self.queue.get, None)
    """)


def test_a_model_in_capitals() -> None:
    check("""
        import multiprocessing as mp
        import torch

        MODEL = None
        SEEN = []

        def init(path):
            global MODEL
            MODEL = torch.load(path, map_location="cpu")

        def score(x):
            out = MODEL(x)
            SEEN.append(out.detach())  # TML401
            return out.mean().item()

        def main(path, inputs):
            with mp.Pool(16, initializer=init, initargs=(path,)) as pool:
                return pool.map(score, inputs)
    """)


_ROLLOUT = """
import torch

class Rollout:
    def __init__(self):
        self.values, self.rewards = [], []

    def add(self, value, reward):
        self.values.append(value){mark}
        self.rewards.append(reward)

def collect(env, actor, critic, steps):
    rollout, state = Rollout(), env.reset()
    for _ in range(steps):
        {mode}
            value = critic(state)
        state, reward = env.step(actor(state).argmax(-1))
        rollout.add(value, reward)
    values = torch.stack(rollout.values){cut}
    return values, rollout.rewards
"""


def test_what_is_detached_later_has_a_graph() -> None:
    check(_ROLLOUT.format(mark="  # TML102", mode="if True:", cut=".detach()"))
    check_innocent(_ROLLOUT.format(mark="", mode="with torch.no_grad():", cut=".detach()"))


def test_a_few_sizes_of_windows() -> None:
    check_innocent("""
        import torch

        class Tiles:
            def __init__(self, mode):
                self.mode = mode
                self.windows = {}

            def window(self, tile_hw):
                key = tuple(tile_hw)
                found = self.windows.get(key)
                if found is None:
                    found = self.windows[key] = torch.ones(tile_hw) * 0.5
                return found
    """)
