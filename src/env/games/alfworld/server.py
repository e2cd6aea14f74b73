"""
ALFWorld served by the OpenEnv protocol, for the environment `alfworld`. Needs openenv-core and alfworld with its games.

    python src/env/games/alfworld/server.py --port 8002 --config alfworld_config.yaml --max-sessions 256

A reset names a seed and a set of games (`split`: train, eval_in_distribution or eval_out_of_distribution); the game is the one at the
seed modulo their number. The engine itself ends a game after the steps the configuration allows.
"""

import argparse
import random
import threading
from typing import Any, Dict, List, Optional

import textworld
import textworld.gym
import uvicorn
import yaml
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos, AlfredTWEnv
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation, State
from pydantic import Field

parser = argparse.ArgumentParser(description="ALFWorld by the OpenEnv protocol")
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=8002)
parser.add_argument("--max-sessions", type=int, default=256)
parser.add_argument("--idle-seconds", type=float, default=900)
parser.add_argument("--config", required=True, help="ALFWorld's own configuration, a YAML file")
args = parser.parse_args()

with open(args.config) as file:
    config = yaml.safe_load(file)
max_steps = config["rl"]["training"]["max_nb_steps_per_episode"]

# TextWorld keeps parsers and a registry for the whole process.
lock = threading.Lock()
SPLITS = ("train", "eval_in_distribution", "eval_out_of_distribution")
games: Dict[str, List[str]] = {}


def games_of(split: str) -> List[str]:
    if split not in SPLITS:
        raise ValueError(f"no set of games {split!r}; there are {', '.join(SPLITS)}")
    if split not in games:
        games[split] = list(AlfredTWEnv(config=config, train_eval=split).game_files)
    return games[split]


class AlfworldAction(Action):
    action: str


class AlfworldObservation(Observation):
    text: str = ""
    admissible_commands: List[str] = Field(default_factory=list)
    won: bool = False


class Alfworld(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self.game: Any = None

    def reset(
        self,
        seed: Optional[int] = None,
        episode_id: Optional[str] = None,
        split: str = "train",
        **_: Any,
    ) -> AlfworldObservation:
        with lock:
            self._leave()
            files = games_of(split)
            number = random.randrange(len(files)) if seed is None else seed % len(files)
            name = textworld.gym.register_game(
                files[number],
                request_infos=textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"]),
                batch_size=1,
                asynchronous=False,
                max_episode_steps=max_steps,
                wrappers=[AlfredDemangler(), AlfredInfos()],
            )
            self.game = textworld.gym.make(name)
            # Names are kept for good otherwise, and giving a new one looks at all of them.
            textworld.gym.registry.pop(name, None)
            texts, infos = self.game.reset()
        self._state = State(episode_id=episode_id, step_count=0)
        return AlfworldObservation(text=texts[0], admissible_commands=list(infos["admissible_commands"][0]))

    def step(self, action: AlfworldAction, timeout_s: Optional[float] = None, **_: Any) -> AlfworldObservation:
        with lock:
            texts, _scores, dones, infos = self.game.step([action.action])
        self._state.step_count += 1
        won = bool(infos["won"][0])
        return AlfworldObservation(
            text=texts[0],
            admissible_commands=list(infos["admissible_commands"][0]),
            won=won,
            reward=float(won),
            done=bool(dones[0]),
        )

    @property
    def state(self) -> State:
        return self._state

    def _leave(self) -> None:
        if self.game is not None:
            self.game.close()
            self.game = None

    def close(self) -> None:
        with lock:
            self._leave()


app = create_fastapi_app(
    Alfworld,
    AlfworldAction,
    AlfworldObservation,
    concurrency_config=ConcurrencyConfig(max_concurrent_envs=args.max_sessions, session_timeout=args.idle_seconds),
)

if __name__ == "__main__":
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning")
