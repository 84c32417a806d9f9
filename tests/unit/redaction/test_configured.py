import pytest

from discreet.errors import ConfigurationError
from discreet.redaction.configured import redactor_from
from discreet.settings import load_settings

NOTHING = 7


class Parrots:
    """What a user's own recogniser looks like."""

    type = "PARROT"

    def spans(self, view):
        start = view.text.find("Polly")
        return [] if start < 0 else [(start, start + len("Polly"))]


polly = Parrots()


@pytest.fixture
def configured(monkeypatch):
    def make(**settings):
        for name, value in settings.items():
            monkeypatch.setenv(f"DISCREET_{name}", value)
        return redactor_from(load_settings())

    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setitem(__import__("sys").modules, "users_own", __import__("sys").modules[__name__])
    return make


def test_without_settings_it_is_the_built_in_one(configured):
    assert configured().redact("Polly: ann@example.com") == "Polly: <EMAIL>"


@pytest.mark.parametrize("name", ["users_own:Parrots", "users_own:polly"])
def test_a_recogniser_of_ones_own(configured, name):
    redactor = configured(RECOGNISERS=f'["{name}"]')
    assert redactor.redact("Polly: ann@example.com") == "<PARROT>: <EMAIL>"
    assert redactor.for_thread("1").redact("Polly").startswith("<PARROT:")
    assert redactor.redact(redactor.for_thread("1").redact("Polly")) == "<PARROT>"


@pytest.mark.parametrize("name", ["nowhere", "nowhere:x", "users_own:missing", "users_own:NOTHING", "users_own:"])
def test_what_is_no_recogniser_is_refused(configured, name):
    with pytest.raises(ConfigurationError, match="DISCREET_RECOGNISERS"):
        configured(RECOGNISERS=f'["{name}"]')


def test_types_can_be_left_alone(configured):
    redactor = configured(UNMASKED_TYPES='["EMAIL"]')
    assert redactor.redact("ann@example.com, 0912 345 678") == "ann@example.com, <PHONE>"


def test_a_type_that_nobody_knows_is_refused(configured):
    with pytest.raises(ConfigurationError, match="EMIAL"):
        configured(UNMASKED_TYPES='["EMIAL"]')


def test_regions_of_telephone_numbers(configured):
    text = "8 921 651 47 69, 0412 345 678"
    assert configured().redact(text).startswith("<PHONE>, ")
    assert configured(PHONE_REGIONS='["AU"]').redact(text) == "8 921 651 47 69, <PHONE>"


def test_a_setting_that_is_no_list_names_its_variable(configured):
    with pytest.raises(ConfigurationError, match="DISCREET_RECOGNISERS"):
        configured(RECOGNISERS="users_own:polly")


def test_patterns_of_ones_own_ids(configured):
    redactor = configured(INTERNAL_ID_PATTERNS='["ACME-[0-9]{6}"]')
    assert redactor.redact("see ACME-123456, MRN-1234567") == "see <INTERNAL_ID>, <INTERNAL_ID>"


def test_a_pattern_that_can_not_be_used_is_refused(configured):
    with pytest.raises(ConfigurationError, match="Pattern 1"):
        configured(INTERNAL_ID_PATTERNS='["ACME-[0-9"]')
