"""Make the nodes and what they share from one set of options, for the template and for the middleware."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from discreet.errors import ConfigurationError
from discreet.graph.options import GraphOptions, MemoryToolName, MiddlewareOptions, Options, Remember
from discreet.nodes.annotating import Annotating
from discreet.nodes.forgotten import ForgottenRounds
from discreet.nodes.masking import TurnMask
from discreet.nodes.memory_gate import make_memory_gate
from discreet.nodes.node import Node
from discreet.nodes.opening import TurnOpening
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.prompting import Prompting
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.nodes.rolling_summary import RollingSummariser, remember_summary
from discreet.nodes.save_input import make_save_input
from discreet.nodes.sinks import LogRoundSink, RoundSink, Sink, SummarySink, TurnSink
from discreet.nodes.tools import MemoryForget, MemoryRecall, MemorySave, MemoryUpdate
from discreet.ports import (
    BeginsWork,
    DecliningSecretStore,
    FixedSettings,
    LiveSettings,
    LogsRounds,
    MediaSummarizer,
    Memories,
    SpokenRound,
    SummaryProvider,
    TextRedactor,
)
from discreet.providers import chat_model as model_by_name
from discreet.providers.annotator import RuleAnnotator
from discreet.providers.environment_values import environment_values
from discreet.providers.media import ChatModelSummarizer
from discreet.providers.retry import ModelRetry
from discreet.providers.summaries import summary_provider_for
from discreet.providers.tokens import count_tokens
from discreet.redaction.configured import default_redactor
from discreet.redaction.vault import default_vault
from discreet.settings import Settings, load_settings
from discreet.state.records import Provenance


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What graphs are put together from."""

    mask: TurnMask
    prompting: Prompting
    save_input: Node
    memory_gate: Node | None
    retrieve_memories: Node | None
    persist_filtered: Node
    memory_tools: list[BaseTool]
    fallback_model: BaseChatModel | None
    retry: ModelRetry
    settings: Settings


def make_parts(options: Options, model: Callable[[], BaseChatModel], *, stacklevel: int = 3) -> Parts:
    """Return the parts; `model` returns what summarises where the options name nothing else.

    A warning about options points at the frame `stacklevel`, as `warnings.warn` counts.

    Raises:
        ConfigurationError: Options that contradict each other, or a setting can't be used.
    """
    options = options.filled()
    settings = options.settings or load_settings()
    redactor = options.redactor or default_redactor()
    mask = TurnMask(
        redactor=redactor, vault=options.vault or default_vault(), pause=settings.pause_seconds, masks=options.mask
    )
    remember = _what_to_remember(options, stacklevel + 1)
    forgotten = None if options.memories is None else ForgottenRounds(options.memories)
    summariser = _summariser(options, model, redactor, forgotten, remember)
    opening = _opening(options, summariser, forgotten)
    joined = _joined_log(options)
    memory_settings = options.memory_settings or FixedSettings(environment_values(settings))
    preload = options.memories is not None and options.preload
    return Parts(
        mask=mask,
        prompting=Prompting(
            mask=mask,
            summariser=summariser,
            forgotten=forgotten,
            context_window_size=options.context_window_size,
            memory_settings=memory_settings,
        ),
        save_input=make_save_input(
            max_chars=settings.max_input_chars,
            max_media_bytes=settings.max_media_bytes,
            lenient=isinstance(options, MiddlewareOptions),
            mask=mask,
            short_term=options.short_term,
            begins=_begins(options),
            opening=opening if preload else None,
            default_user=settings.default_user,
        ),
        memory_gate=_gate(settings, mask, opening) if preload else None,
        retrieve_memories=(
            _retrieval(options.memories, settings, memory_settings, mask, opening)
            if options.memories is not None and preload
            else None
        ),
        persist_filtered=make_persist_filtered(
            log=options.log if joined is None else None,
            sinks=_sinks(options, summariser, forgotten, remember, joined),
            annotating=Annotating(
                annotator=options.annotator or RuleAnnotator(), summariser=summariser, forgotten=forgotten
            ),
            mask=mask,
            summarizer=options.summarizer
            or (_media_summaries(model(), redactor) if isinstance(options, GraphOptions) else None),
            tool_loop_limit=settings.tool_loop_limit if options.is_managed else sys.maxsize,
            told_tools=options.told_tools,
            default_user=settings.default_user,
        ),
        memory_tools=_memory_tools(options, settings, redactor, memory_settings, forgotten),
        fallback_model=options.fallback_model or _model(settings.fallback_model, settings),
        retry=ModelRetry(seconds=settings.model_retry_seconds),
        settings=settings,
    )


def _media_summaries(model: BaseChatModel, redactor: TextRedactor) -> MediaSummarizer | None:
    """Return what has the model that answers say what media hold."""
    return ChatModelSummarizer(model, redactor=redactor)


class _ModelsOwn:
    """Summarises with a model that is known once it was asked something."""

    def __init__(self, model: Callable[[], BaseChatModel], window: int | None) -> None:
        self._model, self._window = model, window
        self._made: tuple[BaseChatModel, SummaryProvider] | None = None

    @property
    def provenance(self) -> Provenance:
        """Which model summarises, to which instructions."""
        return getattr(self._provider(), "provenance", Provenance())

    async def summarize(self, rounds: Sequence[SpokenRound], *, earlier: str = "", max_tokens: int = 200) -> str:
        """Return a summary of `rounds` and of what came before them."""
        return await self._provider().summarize(rounds, earlier=earlier, max_tokens=max_tokens)

    def _provider(self) -> SummaryProvider:
        model = self._model()
        if self._made is None or self._made[0] is not model:
            self._made = model, summary_provider_for(model, window=self._window)
        return self._made[1]


def _begins(options: Options) -> BeginsWork | None:
    """Return what says what a turn's work is known by: the first place that turns are stored in and that knows it."""
    places = (options.log, options.memories)
    return next((cast("BeginsWork", place) for place in places if hasattr(place, "begin")), None)


def _opening(
    options: Options, summariser: RollingSummariser | None, forgotten: ForgottenRounds | None
) -> TurnOpening | None:
    """Return what reads in one round trip what a turn needs; None where several are asked."""
    if options.memories is None or forgotten is None:
        return None
    return TurnOpening.over(
        options.memories,
        forgotten=forgotten,
        begins=_begins(options),
        short_term=options.short_term,
        summaries=options.summaries,
        summariser=summariser,
    )


def _joined_log(options: Options) -> LogsRounds | None:
    """Return the log as it keeps turns and their rounds together; None where they are kept in different places."""
    if options.log is None or options.short_term is None or not hasattr(options.log, "logs_with"):
        return None
    log = cast("LogsRounds", options.log)
    return log if log.logs_with(options.short_term) else None


def _what_to_remember(options: Options, stacklevel: int) -> Remember:
    """Return what becomes a memory by itself.

    | summaries | search by meaning | behaviour |
    |---|---|---|
    | no | no | turns word for word, found by their words |
    | yes | no | summaries, found by their words |
    | no | yes | turns by meaning: noisy, so this warns |
    | yes | yes | summaries by meaning: recommended |

    Raises:
        ConfigurationError: Something is to be remembered, and there is nothing to remember it in or to make it from.
    """
    if options.remember is None:
        both = options.memories is not None and options.summaries is not None
        return "summaries" if both else "nothing"
    if options.remember == "nothing":
        return "nothing"
    if options.memories is None:
        raise ConfigurationError(f"remember={options.remember!r} needs memories=…, for example storage.memories.")
    if options.remember == "summaries" and options.summaries is None:
        raise ConfigurationError("remember='summaries' needs summaries=…, for example storage.summaries.")
    if options.remember == "turns" and options.memories.semantic:
        warnings.warn(
            "Turns are remembered word for word and searched by meaning. Raw turns make noisy vectors: "
            "remember='summaries' finds more. To search turns by their words alone, set DISCREET_EMBEDDING_MODEL=none.",
            stacklevel=stacklevel,
        )
    return options.remember


def _summariser(
    options: Options,
    model: Callable[[], BaseChatModel],
    redactor: TextRedactor,
    forgotten: ForgottenRounds | None,
    remember: Remember,
) -> RollingSummariser | None:
    if options.summaries is None:
        return None
    keep = options.memories is not None and remember == "summaries"
    provider = options.summary_provider or _ModelsOwn(model, options.context_window_size)
    return RollingSummariser(
        options.summaries,
        provider,
        count_tokens,
        redactor=redactor,
        background=options.summarise == "background",
        on_commit=remember_summary(options.memories, provider) if keep and options.memories is not None else None,
        is_current=None if forgotten is None else forgotten.may_be_told,
    )


def _sinks(
    options: Options,
    summariser: RollingSummariser | None,
    forgotten: ForgottenRounds | None,
    remember: Remember,
    joined: LogsRounds | None,
) -> list[Sink]:
    sinks: list[Sink] = list(options.sinks)
    if joined is not None and options.short_term is not None:
        sinks.append(LogRoundSink(joined, options.short_term))
    elif options.short_term is not None:
        sinks.append(RoundSink(options.short_term))
    if summariser is not None:
        sinks.append(SummarySink(summariser, forgotten))
    if remember == "turns" and options.memories is not None:
        sinks.append(TurnSink(options.memories))
    return sinks


def _gate(settings: Settings, mask: TurnMask, opening: TurnOpening | None) -> Node:
    return make_memory_gate(
        small_model=_model(settings.gate_model, settings),
        timeout=settings.gate_timeout,
        mask=mask,
        opening=opening,
        default_user=settings.default_user,
    )


def _model(name: str | None, settings: Settings) -> BaseChatModel | None:
    return model_by_name(name, settings=settings) if name else None


def _retrieval(
    memories: Memories,
    settings: Settings,
    memory_settings: LiveSettings,
    mask: TurnMask,
    opening: TurnOpening | None,
) -> Node:
    return make_retrieve_memories(
        memories=memories,
        memory_settings=memory_settings,
        timeout=settings.retrieve_timeout,
        mask=mask,
        opening=opening,
        default_user=settings.default_user,
        shared_apps=settings.shared_apps,
    )


def _memory_tools(
    options: Options,
    settings: Settings,
    redactor: TextRedactor,
    memory_settings: LiveSettings,
    forgotten: ForgottenRounds | None,
) -> list[BaseTool]:
    """Return the tools that were asked for.

    Raises:
        ConfigurationError: A name is unknown.
    """
    if options.memories is None or not options.memory_tools:
        return []
    wanted = get_args(MemoryToolName) if options.memory_tools is True else options.memory_tools
    if unknown := set(wanted) - set(get_args(MemoryToolName)):
        raise ConfigurationError(f"memory_tools names {sorted(unknown)}. Known: {', '.join(get_args(MemoryToolName))}.")
    memories, user = options.memories, settings.default_user
    secret_store = options.secret_store or DecliningSecretStore()
    tools: list[BaseTool] = [
        MemorySave(memories=memories, default_user=user, redactor=redactor, secret_store=secret_store),
        MemoryRecall(
            memories=memories, default_user=user, shared_apps=settings.shared_apps, memory_settings=memory_settings
        ),
        MemoryUpdate(memories=memories, default_user=user, redactor=redactor, secret_store=secret_store),
        MemoryForget(
            memories=memories,
            default_user=user,
            summaries=options.summaries,
            shared_apps=settings.shared_apps,
            rounds=forgotten,
            redactor=redactor,
            secret_store=secret_store,
        ),
    ]
    return [tool for tool in tools if tool.name in wanted]
