"""The redactor that the settings describe."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from discreet.errors import ConfigurationError
from discreet.named_objects import named_object
from discreet.redaction.engine import Redactor
from discreet.redaction.placeholder_key import load_placeholder_key
from discreet.redaction.thread_offload import read_apart
from discreet.settings import Settings, load_settings

if TYPE_CHECKING:
    from discreet.redaction.recognisers import Recogniser

SHORT_NAMES = {
    "kingfisher": "discreet.redaction.recognisers.kingfisher:KingfisherRecogniser",
    "names-en": "discreet.redaction.recognisers.names.english:EnglishNameRecogniser",
    "names-ru": "discreet.redaction.recognisers.names.russian:RussianNameRecogniser",
    "names-vi": "discreet.redaction.recognisers.names.vietnamese:VietnameseNameRecogniser",
    "names-zh": "discreet.redaction.recognisers.names.chinese:ChineseNameRecogniser",
    "presidio": "discreet.redaction.recognisers.presidio:PresidioRecogniser",
}
"""What the optional recognisers may be called in the settings -> module:attribute."""


@cache
def default_redactor() -> Redactor:
    """Return the redactor of this process, as the settings describe it when it is first asked for.

    Raises:
        ConfigurationError: A setting can't be used.
    """
    return read_apart(lambda: redactor_from(load_settings()))


def redactor_from(settings: Settings) -> Redactor:
    """Return a redactor with the recognisers and the placeholder key of `settings`.

    Recognisers that the settings say nothing of are loaded with the first text.

    Raises:
        ConfigurationError: A recogniser can't be imported or is none, a type is unknown, or the key can't be used.
        MissingDependencyError: A recogniser needs an optional package.
    """
    key = load_placeholder_key(settings)
    if not (settings.recognisers or settings.unmasked_types or settings.phone_regions or settings.internal_id_patterns):
        return Redactor(placeholder_key=key)
    return Redactor(recognisers=_recognisers(settings), placeholder_key=key)


def redactor_of_ids(settings: Settings) -> Redactor:
    """Return what finds values in ids: as `redactor_from`, but for secrets that are told by words or by how random they look.

    ULIDs, nanoids and what identity providers give look as random, and begin with words such as "auth".

    Raises:
        ConfigurationError: As `redactor_from`.
        MissingDependencyError: Likewise.
    """
    from discreet.redaction.recognisers import (
        DEFAULT,
        ConnectionStringRecogniser,
        PrivateKeyRecogniser,
        VendorTokenRecogniser,
    )

    formed = (ConnectionStringRecogniser, PrivateKeyRecogniser, VendorTokenRecogniser)
    told = {each for each in DEFAULT if each.type == "SECRET" and not isinstance(each, formed)}
    return Redactor(recognisers=[each for each in _recognisers(settings) if each not in told])


def _recognisers(settings: Settings) -> list[Recogniser]:
    recognisers = (*_built_in(settings), *map(_imported, settings.recognisers))
    unknown = set(settings.unmasked_types) - {each.type for each in recognisers}
    if unknown:
        raise ConfigurationError(
            f"DISCREET_UNMASKED_TYPES names types that no recogniser has: {', '.join(sorted(unknown))}."
        )
    return [each for each in recognisers if each.type not in settings.unmasked_types]


def _built_in(settings: Settings) -> Iterator[Recogniser]:
    from discreet.redaction.recognisers import (  # compiles hundreds of patterns
        DEFAULT,
        InternalIdRecogniser,
        PhoneRecogniser,
    )

    for recogniser in DEFAULT:
        if isinstance(recogniser, PhoneRecogniser) and settings.phone_regions:
            yield PhoneRecogniser(regions=settings.phone_regions)
        elif isinstance(recogniser, InternalIdRecogniser) and settings.internal_id_patterns:
            yield InternalIdRecogniser(settings.internal_id_patterns)
        else:
            yield recogniser


def _imported(name: str) -> Recogniser:
    found = named_object("DISCREET_RECOGNISERS", SHORT_NAMES.get(name, name))
    recogniser = found() if isinstance(found, type) else found
    if not isinstance(getattr(recogniser, "type", None), str) or not callable(getattr(recogniser, "spans", None)):
        raise ConfigurationError(
            f"DISCREET_RECOGNISERS names {name!r}, which is no recogniser: it needs type and spans."
        )
    return recogniser  # type: ignore[no-any-return]  # just checked, as far as it can be
