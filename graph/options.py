"""What a graph with memory is made of: each option is spelt here, and nowhere else."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, Self, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from discreet.nodes.sinks import Sink
from discreet.ports import (
    ConversationLog,
    LiveSettings,
    MediaSummarizer,
    Memories,
    RollingSummaries,
    SecretStore,
    ShortTermStore,
    SummaryProvider,
    TextRedactor,
    TurnAnnotator,
    TurnVault,
)
from discreet.settings import Settings
from discreet.state.conversation import ConversationState

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
Given = TypeVar("Given", bound="Options")

MemoryToolName = Literal["save_memory", "recall_memory", "update_memory", "forget_memory"]
Remember = Literal["turns", "summaries", "nothing"]


class HasMemory(Protocol):
    """An open storage, as `open_storage` yields it: the parts of it that graphs use."""

    @property
    def memories(self) -> Memories:
        """Long-term memory."""
        ...

    @property
    def log(self) -> ConversationLog:
        """Conversation log."""
        ...

    @property
    def short_term(self) -> ShortTermStore:
        """Sessions and their last rounds."""
        ...

    @property
    def summaries(self) -> RollingSummaries:
        """Rolling summaries of threads."""
        ...

    @property
    def memory_settings(self) -> LiveSettings:
        """Settings that are changed while graphs are in use."""
        ...

    @property
    def vault(self) -> TurnVault:
        """What running turns really said."""
        ...


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a graph with memory is made of. Everything is optional."""

    storage: HasMemory | None = field(default=None, kw_only=False)
    """An open storage. Its memories, log, sessions, vault and live settings are used where the fields below name no others, and its rolling
    summaries where the conversation is managed."""
    memories: Memories | None = None
    """Long-term memory, for example `storage.memories`. None: there is none."""
    log: ConversationLog | None = None
    """Conversation log, for example `storage.log`. None: turns are not logged."""
    short_term: ShortTermStore | None = None
    """Sessions and their last rounds, for example `storage.short_term`."""
    summaries: RollingSummaries | None = None
    """Rolling summaries of threads, for example `storage.summaries`, for a managed conversation. None: rounds that don't fit the
    prompt are quoted in it."""
    summary_provider: SummaryProvider | None = None
    """Makes them. Default: the model that answers; with the offline model, quotes of what the user said."""
    summarise: Literal["background", "turn"] = "background"
    """When rolling summaries are made: beside the turns, which never wait for them, or before a turn ends. In the turn where
    each has an event loop or a process of its own, and a chat model is to write them; see docs/rolling_summary.md."""
    summarizer: MediaSummarizer | None = None
    """Says what is kept of voice and images, once the turn is answered. Default: words sent along, in `build_graph` else the chat model
    if it is multimodal; else kind and size."""
    redactor: TextRedactor | None = None
    """Puts placeholders in place of sensitive values. Default: the one that the settings describe."""
    vault: TurnVault | None = None
    """Holds the real values of running turns and their threads, where the state is masked. Default: this process's memory."""
    mask: bool | Literal["auto"] = "auto"
    """Whether values stand in the state as placeholders. "auto": where somebody else stores it, another checkpointer or a server; under
    `RedactingSaver`, or without a checkpointer, it holds what was said."""
    secret_store: SecretStore | None = None
    """Keeps passwords, keys and tokens that the user wants remembered; memories refer to them. Default: no memory has one."""
    preload: bool = True
    """Retrieve memories before the model speaks, if the gate says so."""
    memory_tools: bool | Collection[MemoryToolName] = True
    """Which of save_memory, recall_memory, update_memory and forget_memory the model gets."""
    told_tools: Collection[str] = ()
    """Names of tools with `return_direct` whose text may be kept as the answer. Of others a line says that they answered."""
    remember: Remember | None = None
    """What becomes a memory of each conversation by itself: its rolling summary, or every turn word for word. Default:
    summaries where there are any, else nothing."""
    sinks: Sequence[Sink] = ()
    """Where filtered turns go besides."""
    annotator: TurnAnnotator | None = None
    """Says of each turn which language it is in, what about, and whether somebody may be in danger, for log and session.
    Default: rules in four languages."""
    fallback_model: BaseChatModel | None = None
    """Answers while the chat model is overloaded or can't be reached. Default: DISCREET_FALLBACK_MODEL, else none."""
    context_window_size: int | None = None
    """Tokens that the chat model takes, its answer included, for a managed conversation. Default: `Context`, else the setting of that
    name, else the model's profile, else 32,000."""
    memory_settings: LiveSettings | None = None
    """Settings that are changed while the graph is in use, for example `storage.memory_settings`. Default: as `settings`
    say."""
    settings: Settings | None = None
    """Default: from the environment."""

    @property
    def is_managed(self) -> bool:
        """Whether prompts are put together of the conversation, within the window of their model."""
        return True

    def filled(self) -> Self:
        """Return these options with what their storage has in the place of what is not given."""
        if self.storage is None:
            return self
        names = (
            "memories",
            "log",
            "short_term",
            "memory_settings",
            "vault",
            *(("summaries",) if self.is_managed else ()),
        )
        return replace(self, **{name: getattr(self.storage, name) for name in names if getattr(self, name) is None})


@dataclass(frozen=True, kw_only=True)
class MiddlewareOptions(Options):
    """What `MemoryMiddleware` takes: the options of memory. Tools and instructions are the agent's own."""

    conversation: Literal["kept", "managed"] = "kept"
    """"kept": the model gets the messages that the agent would send it, and beside them what is known of the user. "managed": as in
    the template, the conversation is fitted into the window of the model, with a rolling summary where there are `summaries`, and a
    turn has at most `DISCREET_TOOL_LOOP_LIMIT` rounds of tool calls."""
    model: BaseChatModel | str | None = None
    """Writes rolling summaries. Default: the agent's own model."""

    @property
    def is_managed(self) -> bool:
        """Whether prompts are put together of the conversation."""
        return self.conversation == "managed"


@dataclass(frozen=True, kw_only=True)
class GraphOptions(Options):
    """What `build_graph` takes: the options of memory, and those of the agent around it."""

    chat_model: BaseChatModel | str | None = None
    """A model, or `provider:model`. Default: DISCREET_CHAT_MODEL, else OpenAI with a key, else the offline model.
    `Context.model` overrides it for one run."""
    tools: Sequence[BaseTool] = ()
    """Tools of your own."""
    system_prompt: str | None = None
    """Replaces the template's own instructions."""
    state_schema: type[Any] = ConversationState
    """`ConversationState` or a subclass of it. What it adds is taken as input and given as output; your nodes may use it."""


def spelt_by(options: Callable[P, GraphOptions]) -> Callable[[Callable[[GraphOptions], T]], Callable[P, T]]:
    """Return a decorator: the function is called with the arguments of `options`, so that these are spelt in one place."""

    def decorated(build: Callable[[GraphOptions], T]) -> Callable[P, T]:
        @wraps(build)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return build(options(*args, **kwargs))

        taken = inspect.signature(options)
        call.__signature__ = taken.replace(return_annotation="StateGraph")  # type: ignore[attr-defined]  # PEP 362
        return call

    return decorated


def init_spelt_by(
    options: Callable[P, Given],
) -> Callable[[Callable[[S, Given], None]], Callable[Concatenate[S, P], None]]:
    """Return a decorator for `__init__` that does the same."""

    def decorated(init: Callable[[S, Given], None]) -> Callable[Concatenate[S, P], None]:
        @wraps(init)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
            init(self, options(*args, **kwargs))

        taken = inspect.signature(options)
        itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        call.__signature__ = taken.replace(  # type: ignore[attr-defined]  # PEP 362
            parameters=[itself, *taken.parameters.values()], return_annotation=None
        )
        return call

    return decorated
