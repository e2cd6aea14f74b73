"""
WebShop served by the OpenEnv protocol, for the environment `webshop`. Needs openenv-core and webshop-minimal with its data.

    python src/env/games/webshop/server.py --port 8001 --dataset small --max-sessions 256

One shop is loaded and shared; each session has its own visit. A reset names a goal (`session`), or a seed and the split (`mode`:
train, val or test), from which the goal is chosen as RAGEN chooses it. Settings of the shop that a reset names must be this shop's.
"""

import argparse
import random
import re
import threading
import uuid
from typing import Any, Dict, List, Optional

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation, State
from pydantic import Field
from webshop_minimal import WebAgentTextEnv, init_basedir

parser = argparse.ArgumentParser(description="WebShop by the OpenEnv protocol")
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=8001)
parser.add_argument("--max-sessions", type=int, default=256)
parser.add_argument("--idle-seconds", type=float, default=900)
parser.add_argument("--dataset", choices=["small", "full"], default="small")
parser.add_argument("--human-goals", action="store_true")
parser.add_argument("--limit-goals", type=int, default=-1)
parser.add_argument("--num-products", type=int, default=None)
parser.add_argument("--show-attrs", action="store_true")
args = parser.parse_args()

shop = {
    "observation_mode": "text",
    "human_goals": args.human_goals,
    "limit_goals": args.limit_goals,
    "num_products": args.num_products,
    "show_attrs": args.show_attrs,
}
init_basedir(args.dataset)

# The shop is one object with many visitors, and says nothing about threads.
lock = threading.Lock()
# It draws the goals' price limits from the global generator before it seeds it: unseeded, a goal is another one after each start.
random.seed(0)
shared = WebAgentTextEnv(session_prefix=uuid.uuid4().hex, **shop).server

order = list(range(len(shared.goals)))
random.Random(42).shuffle(order)
# RAGEN's split needs more goals than it holds out; a smaller shop is split in the shares of a sixth, a third and a half.
HELD_OUT = (500, 1000)
TEST, VAL = HELD_OUT if len(order) > sum(HELD_OUT) else (len(order) // 6, len(order) // 3)
if TEST == 0:
    parser.error(f"a shop of {len(order)} goals cannot be split into what is trained, validated and tested on")


def goal_of(seed: int, mode: str) -> int:
    if mode == "test":
        return order[seed % TEST]
    if mode == "val":
        return order[TEST + seed % VAL]
    return order[TEST + VAL + seed % (len(order) - TEST - VAL)]


# Asks the shop for products by chance, attribute, category or query, in place of a search; `<a>` and a bare `<c>` are errors there.
MARKER = re.compile(r"^(search\[)<([racq])>", re.IGNORECASE)


def plain(action: str) -> str:
    """The action with a marker of the shop's own read as a word to search for."""
    return MARKER.sub(r"\1\2", action)


class WebShopAction(Action):
    action: str


class WebShopObservation(Observation):
    text: str = ""
    instruction: str = ""
    available_actions: Dict[str, Any] = Field(default_factory=dict)


class WebShop(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        with lock:
            self.visit = WebAgentTextEnv(server=shared, session_prefix=uuid.uuid4().hex, **shop)

    def _observe(self, reward: Optional[float] = None, done: bool = False) -> WebShopObservation:
        actions = self.visit.get_available_actions()
        clickables: List[str] = list(actions["clickables"])
        return WebShopObservation(
            text=self.visit.observation,
            # Of the visit, not of the page: the last one, after a purchase, does not repeat it.
            instruction=self.visit.instruction_text.removeprefix("Instruction:").strip(),
            available_actions={"has_search_bar": bool(actions["has_search_bar"]), "clickables": clickables},
            reward=reward,
            done=done,
        )

    def reset(
        self,
        seed: Optional[int] = None,
        episode_id: Optional[str] = None,
        mode: str = "train",
        session: Optional[int] = None,
        **settings: Any,
    ) -> WebShopObservation:
        own = {"dataset": args.dataset, **shop}
        for key, value in settings.items():
            if key in own and own[key] != value:
                raise ValueError(f"this shop was started with {key}={own[key]!r}, not {value!r}")
        if session is None:
            session = goal_of(random.randrange(2**31) if seed is None else seed, mode)
        with lock:
            self._leave()
            self.visit.reset(session=session)
            self._state = State(episode_id=episode_id, step_count=0)
            return self._observe()

    def step(self, action: WebShopAction, timeout_s: Optional[float] = None, **_: Any) -> WebShopObservation:
        with lock:
            _page, reward, done, _info = self.visit.step(plain(action.action))
            self._state.step_count += 1
            return self._observe(float(reward), bool(done))

    @property
    def state(self) -> State:
        return self._state

    def _leave(self) -> None:
        # The shop remembers every visitor until it is told that one has left.
        shared.user_sessions.pop(self.visit.session, None)

    def close(self) -> None:
        with lock:
            self._leave()


app = create_fastapi_app(
    WebShop,
    WebShopAction,
    WebShopObservation,
    concurrency_config=ConcurrencyConfig(max_concurrent_envs=args.max_sessions, session_timeout=args.idle_seconds),
)

if __name__ == "__main__":
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning")
