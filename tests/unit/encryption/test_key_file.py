"""Keys in a file: who may read it, what it may hold, and that it is followed."""

import pytest

from discreet.encryption import FileKeys, keys_from_settings, make_key, seal, unseal, write_key
from discreet.encryption.key_file import LOOK_SECONDS
from discreet.errors import ConfigurationError


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "keys"
    made.touch(0o600)
    return made


def put(path, *keys):
    """Put a file in the place of the one at `path`, as a rotation does."""
    new = path.with_name("new")
    new.touch(0o600)
    new.write_text("\n".join(map(write_key, keys)))
    new.replace(path)


def test_lines_commas_and_comments_are_read_and_the_first_seals(path):
    first, second, third = (make_key() for _ in range(3))
    path.write_text(f"# of March\n{write_key(first)},{write_key(second)}\n\n {write_key(third)} # of May\n")
    keys = FileKeys(path)
    assert keys.current() == first
    assert [keys.find(key.id) for key in (second, third)] == [second, third]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_may_use_is_refused_and_the_message_says_what_to_do(path, mode):
    put(path, make_key())
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        FileKeys(path)


@pytest.mark.parametrize("written", ["", "# none", "k1:short", "кл:юч"])
def test_a_file_without_usable_keys_is_refused_and_not_repeated(path, written):
    path.write_text(written)
    with pytest.raises(ConfigurationError, match="discreet key") as caught:
        FileKeys(path)
    assert "short" not in str(caught.value)


def test_a_file_that_is_none_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ConfigurationError):
            FileKeys(path)


def test_a_changed_file_is_read_again_and_until_then_nothing_is_looked_at(path):
    old, new = make_key(), make_key()
    put(path, old)
    clock = Clock()
    keys = FileKeys(path, clock=clock)
    put(path, new, old)
    assert keys.current() == old
    clock.now += LOOK_SECONDS
    assert keys.current() == new
    assert keys.find(old.id) == old


def test_a_key_that_is_asked_for_and_not_known_is_looked_for_at_once(path):
    old, new = make_key(), make_key()
    put(path, old)
    here = FileKeys(path, clock=Clock())
    put(path, new, old)
    there = FileKeys(path)
    assert unseal(seal(b"from there", b"", there), b"", here) == b"from there"


@pytest.mark.parametrize("spoil", ["gone", "open", "broken"])
def test_a_file_that_is_spoilt_later_leaves_the_keys_and_a_word_in_the_log(path, caplog, spoil):
    old, new = make_key(), make_key()
    put(path, old)
    clock = Clock()
    keys = FileKeys(path, clock=clock)
    match spoil:
        case "gone":
            path.unlink()
        case "open":
            path.chmod(0o644)
        case "broken":
            path.write_text("half of a ke")
    for _ in range(3):
        clock.now += LOOK_SECONDS
        assert keys.current() == old
    assert [record.getMessage().split()[0] for record in caplog.records] == ["keys.file_not_taken"]
    put(path, new, old)
    clock.now += LOOK_SECONDS
    assert keys.current() == new


def test_the_setting_names_the_file_and_one_source_is_enough(path, monkeypatch):
    key = make_key()
    put(path, key)
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS_FILE", str(path))
    assert keys_from_settings().current() == key
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(key))
    with pytest.raises(ConfigurationError, match="Set one of"):
        keys_from_settings()


def test_a_link_to_a_file_is_followed_as_orchestrators_make_them(path, tmp_path):
    key = make_key()
    put(path, key)
    link = tmp_path / "link"
    link.symlink_to(path)
    assert FileKeys(link).current() == key
