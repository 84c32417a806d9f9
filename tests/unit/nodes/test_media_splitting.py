"""What is read from the media of a message, in each form that callers send, and what is refused."""

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from discreet.errors import InputError, InputTooLargeError, UnsupportedInputError
from discreet.nodes.media import MAX_MEDIA, split_message
from discreet.nodes.media_blocks import standard_blocks
from discreet.ports.media import payload_of


def coded(data):
    return base64.b64encode(data).decode()


PNG = b"\x89PNG\r\n\x1a\n planted-pixels"
OGG = b"OggS planted-sound"
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0" + bytes(20)
SHA = hashlib.sha256(PNG).hexdigest()
URL = "https://planted-host.example/secret.png"


def split(*blocks, max_bytes=1_000_000):
    return split_message(HumanMessage(list(blocks)), max_bytes=max_bytes)


def only(block, **options):
    _text, (media,) = split(block, **options)
    return media


IMAGES = [
    {"type": "image", "base64": coded(PNG), "mime_type": "image/png"},
    {"type": "image", "base64": PNG, "mime_type": "image/png"},
    {"type": "image", "url": f"data:image/png;base64,{coded(PNG)}"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{coded(PNG)}", "detail": "low"}},
    {"type": "image_url", "image_url": f"DATA:image/png;base64,{coded(PNG)}"},
    {"type": "input_image", "image_url": f"data:image/png;base64,{coded(PNG)}"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": coded(PNG)}},
    {"type": "image", "source_type": "base64", "data": coded(PNG), "mime_type": "image/png"},
    {"type": "media", "data": coded(PNG), "mime_type": "image/png"},
    {"type": "media", "data": PNG, "mime_type": "image/png"},
]


@pytest.mark.parametrize("block", IMAGES)
def test_a_payload_is_understood_in_every_form(block):
    media = only(block)
    assert media.meta == {"modality": "image", "mime": "image/png", "sha256": SHA}
    assert payload_of(media.block) == {"type": "image", "base64": coded(PNG), "mime_type": "image/png"}


@pytest.mark.parametrize("block", IMAGES)
@pytest.mark.parametrize("place", ["beside", "extras", "metadata"])
def test_what_came_along_is_found_in_every_form(block, place):
    along = {"caption": "A kettle.", "language": "en", "tags": ["kitchen"]}
    media = only({**block, **along} if place == "beside" else {**block, place: along})
    assert media.given == "A kettle."
    assert (media.meta["language"], media.meta["tags"]) == ("en", ["kitchen"])


@pytest.mark.parametrize(
    ("block", "payload"),
    [
        ({"type": "image", "url": URL}, {"url": URL}),
        ({"type": "image_url", "image_url": {"url": URL}, "caption": "x"}, {"url": URL}),
        ({"type": "image", "source": {"type": "url", "url": URL}}, {"url": URL}),
        ({"type": "image", "source_type": "url", "url": URL}, {"url": URL}),
        ({"type": "image", "file_id": "file-1"}, {"file_id": "file-1"}),
        ({"type": "input_image", "file_id": "file-1"}, {"file_id": "file-1"}),
        ({"type": "image", "source": {"type": "file", "file_id": "file-1"}}, {"file_id": "file-1"}),
        ({"type": "image", "source_type": "id", "id": "file-1"}, {"file_id": "file-1"}),
        (
            {"type": "media", "file_uri": "gs://b/a.png", "mime_type": "image/png"},
            {"url": "gs://b/a.png", "mime_type": "image/png"},
        ),
    ],
)
def test_a_payload_that_is_only_named_is_passed_on_and_not_fetched(block, payload):
    media = only({**block, "sha256": SHA.upper()})
    assert payload_of(media.block) == {"type": "image", **payload}
    assert media.meta["sha256"] == SHA


def test_openais_recordings_are_understood():
    media = only({"type": "input_audio", "input_audio": {"data": coded(WAV), "format": "wav"}, "transcript": "Hi."})
    assert (media.modality, media.transcript) == ("voice", "Hi.")
    assert media.meta["mime"] == "audio/wav"
    assert payload_of(media.block) == {"type": "audio", "base64": coded(WAV), "mime_type": "audio/wav"}


def test_metadata_without_a_payload_is_enough():
    media = only(
        {"type": "audio", "sha256": "ab" * 32, "mime_type": "audio/ogg", "summary": "A song.", "durationMs": 7}
    )
    assert media.meta == {"modality": "voice", "mime": "audio/ogg", "durationMs": 7, "sha256": "ab" * 32}
    assert payload_of(media.block) is None


def test_text_stands_apart_from_the_media():
    texts, media = split("One.", IMAGES[0], {"type": "text", "text": "Two."}, {"type": "text", "text": ""})
    assert (texts, len(media)) == (["One.", "Two."], 1)


@pytest.mark.parametrize(
    ("payload", "kind", "mime"),
    [
        (PNG, "image", "image/png"),
        (b"\xff\xd8\xff\xe0 jpeg", "image", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image", "image/webp"),
        (b"GIF89a", "image", "image/gif"),
        (OGG, "audio", "audio/ogg"),
        (WAV, "audio", "audio/wav"),
        (b"fLaC", "audio", "audio/flac"),
        (b"ID3\3", "audio", "audio/mpeg"),
        (b"\0\0\0\x18ftypM4A ", "audio", "audio/mp4"),
    ],
)
def test_a_type_that_nobody_gave_is_read_from_the_first_bytes(payload, kind, mime):
    media = only({"type": kind, "base64": coded(payload)})
    assert media.meta["mime"] == mime
    assert payload_of(media.block)["mime_type"] == mime


def test_codecs_stay_in_the_metadata_and_go_for_the_model():
    media = only({"type": "audio", "base64": coded(OGG), "mime_type": "audio/ogg; codecs=opus"})
    assert media.meta["mime"] == "audio/ogg; codecs=opus"
    assert payload_of(media.block)["mime_type"] == "audio/ogg"


@pytest.mark.parametrize("mime", ["video/webm", "video/mp4", "application/ogg", "audio/webm;codecs=opus"])
def test_a_recording_may_come_in_a_container_of_films(mime):
    assert only({"type": "audio", "base64": coded(b"unknown"), "mime_type": mime}).meta["mime"] == mime


@pytest.mark.parametrize(
    "block",
    [
        {"type": "audio", "base64": coded(PNG)},
        {"type": "audio", "base64": coded(PNG), "mime_type": "audio/ogg"},
        {"type": "image", "base64": coded(OGG), "mime_type": "image/png"},
        {"type": "image", "base64": coded(PNG), "mime_type": "audio/ogg"},
        {"type": "image", "base64": coded(b"%PDF-1.7"), "mime_type": "image/png"},
        {"type": "image", "base64": coded(b"PK\3\4")},
        {"type": "image", "base64": coded(b"unknown"), "mime_type": "video/mp4"},
        {"type": "image", "url": URL, "mime_type": "text/html"},
        {"type": "image", "base64": coded(b"unknown")},
        {"type": "image", "base64": coded(b"unknown"), "mime_type": "application/octet-stream"},
        {"type": "image", "base64": ""},
        {"type": "image", "base64": "***"},
        {"type": "image", "base64": "ảnh"},
        {"type": "image", "base64": 7},
        {"type": "image", "base64": coded(PNG), "sha256": "0" * 64},
        {"type": "image", "base64": coded(PNG), "sha256": "short"},
        {"type": "image", "url": "file:///etc/passwd"},
        {"type": "image", "url": "/etc/passwd"},
        {"type": "image", "url": "ftp://planted-host.example/x.png"},
        {"type": "image", "url": "https://[planted-host"},
        {"type": "image", "url": "https://h/" + "x" * 9_000},
        {"type": "image", "url": 7},
        {"type": "image_url", "image_url": {"url": ["x"]}},
        {"type": "image", "file_id": ""},
        {"type": "video", "base64": coded(b"x"), "mime_type": "video/mp4"},
        {"type": "file", "base64": coded(b"%PDF-1.7"), "mime_type": "application/pdf"},
        {"type": "media", "data": coded(b"x"), "mime_type": "video/mp4"},
        {"type": "document", "source": {"type": "text", "data": "x"}},
        {"type": "tool_use", "id": "x", "name": "x", "input": {}},
        {"image": {"format": "png", "source": "x"}},
        {"type": 7},
        {},
    ],
)
def test_what_can_not_be_taken_is_refused_without_repeating_it(block):
    with pytest.raises(UnsupportedInputError) as caught:
        split(block)
    assert "planted" not in str(caught.value)
    assert "passwd" not in str(caught.value)


def test_the_media_of_a_message_have_one_limit_together():
    block = {"type": "image", "base64": coded(PNG)}
    assert len(split(block, block, max_bytes=2 * len(PNG))[1]) == 2
    with pytest.raises(InputTooLargeError) as caught:
        split(block, block, max_bytes=2 * len(PNG) - 1)
    assert (caught.value.size, caught.value.limit) == (2 * len(PNG), 2 * len(PNG) - 1)


def test_a_message_has_so_many_media_at_most():
    block = {"type": "image", "url": URL, "caption": "x"}
    assert len(split(*[block] * MAX_MEDIA)[1]) == MAX_MEDIA
    with pytest.raises(UnsupportedInputError, match="more than 10 media"):
        split(*[block] * (MAX_MEDIA + 1))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"durationMs": 2100.4}, 2100),
        ({"duration_ms": 7}, 7),
        ({"durationMs": 0}, 0),
        ({"durationMs": "soon"}, None),
        ({"durationMs": -1}, None),
        ({"durationMs": True}, None),
        ({"durationMs": float("nan")}, None),
        ({"durationMs": float("inf")}, None),
        ({"durationMs": 10**30}, None),
        ({}, None),
    ],
)
def test_the_length_that_the_caller_says(said, kept):
    assert only({"type": "audio", "base64": coded(OGG), **said}).meta.get("durationMs") == kept


def test_labels_are_short_few_and_only_for_what_they_mean():
    tags = ["a  cat\n", "a cat", "x" * 51, "", 7, "nul\0", *[f"tag {i}" for i in range(30)]]
    media = only({**IMAGES[0], "tags": tags, "imageType": "screenshot"})
    assert media.meta["tags"] == ["a cat", "nul", *[f"tag {i}" for i in range(18)]]
    assert media.meta["imageType"] == "screenshot"
    assert "tags" not in only({**IMAGES[0], "tags": "planted-words", "image_type": "x" * 51}).meta
    assert "imageType" not in only({"type": "audio", "base64": coded(OGG), "imageType": "x"}).meta


def test_a_summary_beats_a_caption_and_one_that_is_the_transcript_is_none():
    media = only({**IMAGES[0], "summary": "S", "caption": "C", "transcript": "T"})
    assert (media.given, media.transcript) == ("S", "T")
    media = only({"type": "audio", "base64": coded(OGG), "summary": "All  of it.", "transcript": "All of it.\n"})
    assert (media.given, media.transcript) == (None, "All of it.\n")


def test_nothing_but_metadata_is_shown_of_a_medium():
    block = {"type": "audio", "base64": coded(OGG), "filename": "planted-name.ogg", "transcript": "planted-words"}
    media = only({**block, "summary": "planted-summary", "title": "planted-title"})
    assert "planted" not in repr(media)
    assert coded(OGG) not in repr(media)
    assert "planted" not in json.dumps(media.meta)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.binary(max_size=20)
    | st.sampled_from([URL, coded(PNG), coded(WAV), f"data:image/png;base64,{coded(PNG)}", "data:,x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["url", "data", "type", "format", "file_id", "media_type"]), inner, max_size=3
        )
    ),
    max_leaves=4,
)
hostile = st.fixed_dictionaries(
    {"type": st.sampled_from(["image", "audio", "image_url", "input_audio", "input_image", "media", "text", "video", ""]) | values},
    optional=dict.fromkeys(("base64", "url", "file_id", "data", "source", "source_type", "image_url", "input_audio", "mime_type", "extras", "metadata", "text", "image", "sha256", "durationMs", "tags", "language", "caption", "transcript", "id"), values),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(hostile, max_size=3))
def test_any_block_is_taken_or_refused_with_a_typed_error(blocks):
    try:
        _text, media = split(*blocks)
    except InputError:
        return
    for item in media:
        json.dumps(item.meta)
        json.dumps(payload_of(item.block))


@pytest.mark.slow
@given(st.lists(hostile, max_size=3))
def test_the_standard_form_stays_as_it_is(blocks):
    once = standard_blocks(blocks)
    assert standard_blocks(once) == once


@given(
    st.binary(max_size=60),
    st.sampled_from([b"", b"RIFF\0\0\0\0WAVE", WAV[:20], WAV[:36], b"\0\0\0\x18ftyp", b"\x1aE\xdf\xa3"]),
)
def test_any_bytes_are_taken_or_refused(data, head):
    try:
        only({"type": "audio", "base64": coded(head + data), "mime_type": "audio/wav"})
    except InputError:
        return


@pytest.mark.parametrize("text", [{"a": "b"}, ["a"], 5])
def test_a_text_that_is_none_is_refused(text):
    with pytest.raises(UnsupportedInputError, match="Send a string"):
        split({"type": "text", "text": text})
