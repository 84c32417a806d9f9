"""The playground: a page on which one talks to the assistant, and sees what of it is stored and what is not."""

from discreet.api.playground.playing import Playground
from discreet.api.playground.router import make_playground_router

__all__ = ["Playground", "make_playground_router"]
