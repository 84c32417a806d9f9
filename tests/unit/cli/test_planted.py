import pytest

from discreet.cli.planted import search_folder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pg_wal").mkdir()
    (tmp_path / "pg_wal" / "0001").write_bytes(b"\0\1ann@example.com\0")
    (tmp_path / "wide").write_bytes("секрет".encode("utf-16-le"))
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


def test_values_are_found_in_every_file_below_the_folder_and_in_wide_text(folder):
    search = search_folder(folder, {"mail": "ann@example.com", "word": "секрет", "other": "bob"})
    assert search.found == {"mail": {"pg_wal/0001"}, "word": {"wide"}}
    assert (search.files, search.size) == (2, 30)


def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "file"
    outside.write_text("bob")
    (folder / "link").symlink_to(outside)
    assert search_folder(folder, {"other": "bob"}).found == {}
