"""Bytes of every kind are looked through, and written again without what must not stay: at the top, and within a value."""

import array
import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import wave
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.search import Words
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet.redaction import Redactor
from discreet.scanning.inspecting import MAX_WITHIN, Inspector
from discreet.scanning.messages import MEDIA
from discreet.scanning.scrubbing.rewriting import Place, Rewriter
from discreet.scanning.texts import Texts
from discreet.scanning.values.streams import MAX_OPENED_BYTES

MAIL = "ann.lindqvist@example.com"
SAID = {
    "en": f"Please write to {MAIL} today",
    "vi": f"Hãy viết thư cho {MAIL} hôm nay",
    "ru": f"Напишите на {MAIL} сегодня",
    "zh": f"请今天写信到 {MAIL}",
}
HARMLESS = {
    "en": "Nothing here is anybody's",
    "vi": "Không có gì ở đây",
    "ru": "Здесь ничего нет",
    "zh": "这里什么都没有",
}
TEXTS = Texts(Redactor(placeholder_key=bytes(32)))
SERIALIZER = JsonPlusSerializer(pickle_fallback=True)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*chunks):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + pixels + chunk(b"IEND", b"")


def recording(said):
    file = io.BytesIO()
    with wave.open(file, "wb") as made:
        made.setparams((1, 2, 8000, 0, "NONE", ""))
        made.writeframes(bytes(range(200)))
    name = said.encode()
    return file.getvalue() + b"LIST" + struct.pack("<I", len(name) + 8) + b"INFOINAM" + name


def zipped(said):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("letter.txt", said)
    return file.getvalue()


def named(said):
    file = io.BytesIO()
    with gzip.GzipFile(f"{said}.txt", "wb", fileobj=file, mtime=0) as made:
        made.write(b"nothing")
    return file.getvalue()


SHAPES = {
    "UTF-8": str.encode,
    "JSON": lambda said: json.dumps({"said": said}).encode(),
    "UTF-16": lambda said: said.encode("utf-16"),
    "UTF-16, little-endian": lambda said: said.encode("utf-16-le"),
    "UTF-16, big-endian": lambda said: said.encode("utf-16-be"),
    "UTF-32": lambda said: said.encode("utf-32"),
    "UTF-32, little-endian": lambda said: said.encode("utf-32-le"),
    "UTF-32, big-endian": lambda said: said.encode("utf-32-be"),
    "UTF-32 amid other bytes": lambda said: b"\x93\xff\x01" + said.encode("utf-32-be") + b"\xfe\xff\xff",
    "UTF-16 amid other bytes": lambda said: b"\x93\xff\x01" + said.encode("utf-16-le") + b"\xfe\xff\xff",
    "UTF-8 amid other bytes": lambda said: b"\x93\xff\x01" + said.encode() + b"\xfe\xff\xff",
    "msgpack": lambda said: SERIALIZER.dumps_typed({"said": said})[1],
    "msgpack, and more behind it": lambda said: SERIALIZER.dumps_typed({"n": 1})[1] + said.encode(),
    "pickle": lambda said: pickle.dumps({"said": said}),
    "pickle of protocol 2": lambda said: pickle.dumps([said, said.encode()], protocol=2),
    "pickle, and more behind it": lambda said: pickle.dumps(1) + said.encode(),
    "zlib": lambda said: zlib.compress(said.encode()),
    "zlib, hardly compressed": lambda said: zlib.compress(said.encode(), 0),
    "gzip": lambda said: gzip.compress(said.encode()),
    "gzip twice, one after the other": lambda said: gzip.compress(b"first") + gzip.compress(said.encode()),
    "bzip2": lambda said: bz2.compress(said.encode()),
    "xz": lambda said: lzma.compress(said.encode()),
    "zlib, and more behind it": lambda said: zlib.compress(b"first") + b"\0\0" + said.encode(),
    "gzip, and zeros behind it": lambda said: gzip.compress(said.encode()) + bytes(20),
    "zlib before other bytes": lambda said: zlib.compress(said.encode()) + b"\0\0tail",
    "bzip2, and a pickle behind it": lambda said: bz2.compress(b"first") + pickle.dumps([said]),
    "gzip of UTF-16": lambda said: gzip.compress(said.encode("utf-16")),
    "gzip of zlib of a pickle": lambda said: gzip.compress(zlib.compress(pickle.dumps([said]))),
    "PNG": lambda said: png(chunk(b"tEXt", b"Comment\0" + said.encode())),
    "PNG, compressed": lambda said: png(chunk(b"zTXt", b"Comment\0\0" + zlib.compress(said.encode()))),
    "PNG, international": lambda said: png(chunk(b"iTXt", b"Comment\0\1\0\0\0" + zlib.compress(said.encode()))),
    "PNG, and more behind it": lambda said: png() + said.encode(),
    "GIF": lambda said: b"GIF89a\1\0\1\0\0\0\0!\xfe" + bytes([len(said.encode())]) + said.encode() + b"\0;",
    "JPEG": lambda said: b"\xff\xd8\xff\xfe" + struct.pack(">H", len(said.encode()) + 2) + said.encode() + b"\xff\xd9",
    "WAV": recording,
}
ICON = struct.pack("<3H4B2H2I", 0, 1, 1, 16, 16, 0, 0, 1, 32, 40, 22) + bytes(40)
MEDIA_SHAPES = {shape for shape in SHAPES if shape.startswith(("PNG", "GIF", "JPEG", "WAV"))}
LISTS = {
    "numbers": lambda said: list(said.encode()),
    "an array of bytes": lambda said: array.array("B", said.encode()),
    "a NumPy array of bytes": lambda said: np.frombuffer(said.encode(), "uint8"),
    "a NumPy array of signed bytes": lambda said: np.frombuffer(said.encode(), "int8"),
    "a NumPy array of UTF-16": lambda said: np.frombuffer(said.encode("utf-16-le"), "uint16"),
    "a NumPy array of texts in a pickle": lambda said: pickle.dumps({"a": np.array([said, "short", "x"])}),
    "letters in a pickle": lambda said: pickle.dumps(array.array("u", said)),
    "a NumPy array in a pickle": lambda said: pickle.dumps({"a": np.frombuffer(said.encode(), "uint8")}),
    "a bytearray": lambda said: bytearray(said.encode()),
    "a set of bytes": lambda said: {said.encode("utf-16"), b"x"},
}  # fmt: skip


@pytest.fixture
def inspector():
    return Inspector(TEXTS)


@pytest.fixture
def rewriter():
    return Rewriter(TEXTS)


def is_there(data):
    """Return whether the address is in bytes, or in what is compressed or pickled there."""
    seen = [data]
    for open_ in (
        gzip.decompress,
        zlib.decompress,
        lambda data: zlib.decompressobj().decompress(data),
        bz2.decompress,
        lzma.decompress,
    ):
        for each in list(seen):
            try:
                seen.append(open_(each))
            except (OSError, EOFError, zlib.error, lzma.LZMAError):
                continue
    return any(Words(mail=MAIL).within(each) or MAIL.encode("utf-32-be")[3:-3] in each for each in seen)


def scrubbed(inspector, rewriter, kind, data):
    """Return a value rewritten, after the address was found in it; nothing is found in what is made, and it stays."""
    assert inspector.look(data, kind=kind).types["EMAIL"] >= 1
    made = rewriter.rewrite(kind, data, Place())
    assert not is_there(made)
    assert inspector.look(made, kind=kind).types == {}
    assert rewriter.rewrite(kind, made, Place()) == made
    return made


@pytest.mark.parametrize("language", SAID)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["bytes", None])
def test_what_is_said_in_bytes_is_found_and_goes(inspector, rewriter, shape, language, kind):
    scrubbed(inspector, rewriter, kind, SHAPES[shape](SAID[language]))


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_said_in_bytes_within_a_value_goes_as_at_the_top(inspector, rewriter, shape):
    inner = SHAPES[shape](SAID["en"])
    made = scrubbed(inspector, rewriter, *SERIALIZER.dumps_typed({"n": 7, "kept": [inner]}))
    assert SERIALIZER.loads_typed(("msgpack", made)) == {"n": 7, "kept": [rewriter.rewrite("bytes", inner, Place())]}


@pytest.mark.parametrize("shape", LISTS)
def test_what_is_said_in_numbers_is_found_and_goes(inspector, rewriter, shape):
    value = {"n": 7, "kept": LISTS[shape](SAID["en"])}
    kind, data = SERIALIZER.dumps_typed(value)
    made = SERIALIZER.loads_typed((kind, scrubbed(inspector, rewriter, kind, data)))
    assert made["n"] == 7
    assert type(made["kept"]) in (type(value["kept"]), bytes)
    if isinstance(value["kept"], np.ndarray):
        assert (made["kept"].dtype, made["kept"].shape) == (value["kept"].dtype, value["kept"].shape)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("my card number is 4111 1111 1111 1111 thanks", "CARD"),
        ("4111 1111 1111 1111", "CARD"),
        ("4111111111111111", "CARD"),
        ("MY CARD IS 4111 1111 1111 1111", "CARD"),
        ("call me on +84 912 345 678 today", "PHONE"),
        ("+84 912 345 678", "PHONE"),
        (MAIL, "EMAIL"),
        (json.dumps([{"n": [1, 2, 3], "to": MAIL}]), "EMAIL"),
        *((said, "EMAIL") for said in SAID.values()),
    ],
)
@pytest.mark.parametrize("numbers", [lambda said: list(said.encode()), lambda said: list(map(ord, said))])
@pytest.mark.parametrize(
    "shape",
    [
        lambda numbers: numbers,
        lambda numbers: [numbers],
        lambda numbers: [*numbers, None],
        lambda numbers: {"type": "Buffer", "data": numbers},
        tuple,
        np.array,
        lambda numbers: np.array(numbers, ">u4"),
        lambda numbers: pickle.dumps({"n": numbers}),
    ],
)
def test_what_numbers_spell_one_by_one_is_found_and_goes(inspector, rewriter, said, found, numbers, shape):
    kind, data = SERIALIZER.dumps_typed({"kept": shape(numbers(said))})
    assert inspector.look(data, kind=kind).types == {found: 1}
    made = rewriter.rewrite(kind, data, Place())
    assert inspector.look(made, kind=kind).types == {}
    assert rewriter.rewrite(kind, made, Place()) == made
    left = SERIALIZER.loads_typed((kind, made))["kept"]
    assert type(left) is not bytes or all(type(each) is int for each in pickle.loads(left)["n"])


def test_numbers_spell_the_placeholder_as_they_spelled_the_value(rewriter):
    value = {"points": list(map(ord, SAID["zh"])), "bytes": list(SAID["zh"].encode()), "data": [*MAIL.encode(), None]}
    kind, data = SERIALIZER.dumps_typed(value)
    made = SERIALIZER.loads_typed((kind, rewriter.rewrite(kind, data, Place())))
    assert "".join(map(chr, made["points"])) == bytes(made["bytes"]).decode() == "请今天写信到 <EMAIL>"
    assert bytes(made["data"]) == b"<EMAIL>"


NUMBERS = {
    "ages": st.lists(st.integers(18, 90), min_size=6, max_size=200),
    "scores": st.lists(st.integers(40, 100), min_size=6, max_size=200),
    "shares": st.lists(st.integers(0, 100), min_size=6, max_size=200),
    "counts": st.lists(st.integers(0, 1000), min_size=6, max_size=200),
    "tokens": st.lists(st.integers(0, 50_000), min_size=6, max_size=200),
    "pixels": st.lists(st.integers(0, 255), min_size=6, max_size=200),
    "one value": st.builds(lambda number, size: [number] * size, st.integers(0, 255), st.integers(6, 600)),
    "steps": st.builds(lambda start, size: list(range(start, start + size)), st.integers(0, 300), st.integers(6, 200)),
    "few": st.lists(st.integers(0, 3), min_size=20, max_size=100),
    "an embedding": st.lists(st.integers(-128, 127), min_size=100, max_size=400),
    "an embedding of floats": st.lists(st.floats(-1, 1), min_size=100, max_size=400),
}


@pytest.mark.parametrize("numbers", NUMBERS)
@settings(derandomize=True)  # of a thousand such lists one may spell something by chance (docs/scrub.md)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_numbers_that_count_something_stay_as_they_are(numbers, data, seed):
    drawn = data.draw(NUMBERS[numbers])
    np.random.default_rng(seed).shuffle(drawn)
    kept = {
        "list": drawn,
        "array": np.array(drawn),
        "bytes": np.array(drawn).astype("uint8"),
        "n": [drawn, [*drawn, None]],
    }
    kind, stored = SERIALIZER.dumps_typed(kept)
    assert Inspector(TEXTS).look(stored, kind=kind).types == {}
    assert Rewriter(TEXTS).rewrite(kind, stored, Place()) == stored
    pickled = pickle.dumps(drawn)
    assert Rewriter(TEXTS).rewrite("pickle", pickled, Place()) == pickled


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_texts_of_an_array_in_a_pickle_stay_those_of_an_array(rewriter, protocol):
    data = pickle.dumps(np.array([SAID["vi"], "short", f"{MAIL} and more"]), protocol=protocol)
    made = pickle.loads(rewriter.rewrite("bytes", data, Place())).tolist()
    texts = [" ".join(text.split()) for text in made]
    assert texts == ["Hãy viết thư cho <EMAIL> hôm nay", "short", "<EMAIL> and more"]


def test_what_stands_behind_a_stream_stays_if_it_may(rewriter):
    made = rewriter.rewrite("bytes", zlib.compress(MAIL.encode()) + b"\0\0tail", Place())
    opened = zlib.decompressobj()
    assert opened.decompress(made) == b"<EMAIL>"
    assert opened.unused_data == b"\0\0tail"


def test_a_key_of_bytes_is_rewritten_as_a_value_is(inspector, rewriter):
    kind, data = SERIALIZER.dumps_typed({MAIL.encode(): 1, b"bob@example.com": 2, b"plain": 3})
    made = scrubbed(inspector, rewriter, kind, data)
    assert SERIALIZER.loads_typed((kind, made)) == {b"<EMAIL>": 1, b"<EMAIL>#2": 2, b"plain": 3}


@pytest.mark.parametrize("number", [51, 65, 255])
def test_a_surface_of_one_colour_stays(inspector, rewriter, number):
    kind, data = SERIALIZER.dumps_typed(np.full((64, 64), number, "uint8"))
    assert inspector.look(data, kind=kind).types == {}
    assert rewriter.rewrite(kind, data, Place()) == data


@pytest.mark.parametrize("begins", [[0, 0, 1, 0], [0, 1, 0, 0, 0]])
def test_a_mask_in_bytes_is_no_picture(rewriter, begins):
    kind, data = SERIALIZER.dumps_typed(np.array(begins + [0, 1, 2] * 40, "uint8"))
    assert rewriter.rewrite(kind, data, Place()) == data


@pytest.mark.parametrize("language", HARMLESS)
@pytest.mark.parametrize("shape", sorted((SHAPES | LISTS).keys() - MEDIA_SHAPES))
def test_where_nothing_is_said_all_stays_byte_for_byte(inspector, rewriter, shape, language):
    kind, data = SERIALIZER.dumps_typed((SHAPES | LISTS)[shape](HARMLESS[language]))
    data = bytes(data)
    assert inspector.look(data, kind=kind).types == {}
    assert rewriter.rewrite(kind, data, Place()) == data


@pytest.mark.parametrize(
    ("shape", "opened"),
    [
        ("UTF-16, big-endian", lambda data: data.decode("utf-16-be")),
        ("UTF-16", lambda data: data.decode("utf-16")),
        ("zlib", lambda data: zlib.decompress(data).decode()),
        ("gzip", lambda data: gzip.decompress(data).decode()),
        ("gzip of UTF-16", lambda data: gzip.decompress(data).decode("utf-16")),
        ("gzip of zlib of a pickle", lambda data: pickle.loads(zlib.decompress(gzip.decompress(data)))[0]),
    ],
)
def test_texts_stay_what_they_were_encoded_as(rewriter, shape, opened):
    assert opened(rewriter.rewrite("bytes", SHAPES[shape](SAID["ru"]), Place())) == "Напишите на <EMAIL> сегодня"


def test_a_short_address_amid_other_bytes_is_found(inspector):
    data = png(chunk(b"tEXt", b"Author\0" + b"al@web.de"))
    assert inspector.look(data, kind="bytes").types == {"EMAIL": 1}


@pytest.mark.parametrize(
    "data", [png(), zipped("a letter"), b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n1 0 obj", b"Rar!\x1a\x07\0" + bytes(40), ICON]
)
def test_of_media_nothing_stays(inspector, rewriter, data):
    assert inspector.look(data, kind="bytes").kinds[MEDIA] == 1
    assert rewriter.rewrite("bytes", data, Place()) == b"<BYTES>"


def test_a_name_in_the_head_of_a_gzip_goes(inspector, rewriter):
    made = scrubbed(inspector, rewriter, "bytes", named(MAIL))
    assert gzip.decompress(made) == b"nothing"


@pytest.mark.parametrize("begins", ["BMW of", "MZ:", "ID3", "FWS", "OTTO", "GIF89a"])
def test_text_that_begins_as_media_do_is_text(inspector, rewriter, begins):
    data = f"{begins} {MAIL}".encode()
    assert inspector.look(data, kind="bytes").types == {"EMAIL": 1}
    assert rewriter.rewrite("bytes", data, Place()) == f"{begins} <EMAIL>".encode()


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bz2.compress, lzma.compress])
def test_what_is_larger_when_it_is_opened_is_not_opened(inspector, rewriter, pack):
    data = pack(bytes(MAX_OPENED_BYTES + 1))
    assert inspector.look(data, kind="bytes").errors == ["larger than 32 MB when it is opened"]
    kind, within = SERIALIZER.dumps_typed([data, MAIL])
    assert SERIALIZER.loads_typed((kind, rewriter.rewrite(kind, within, Place()))) == [b"<BYTES>", "<EMAIL>"]


@pytest.mark.slow
def test_many_streams_together_are_opened_as_far_as_one(inspector):
    half = gzip.compress(bytes(MAX_OPENED_BYTES // 2))
    seen = inspector.look(SERIALIZER.dumps_typed([half, half, half])[1], kind="msgpack")
    assert seen.errors == ["larger than 32 MB when it is opened"]


def test_values_within_values_end_somewhere(inspector, rewriter):
    data = MAIL.encode()
    for _ in range(MAX_WITHIN * 50):
        data = SERIALIZER.dumps_typed([data])[1]
    seen = inspector.look(data, kind="msgpack")
    assert (seen.types, seen.errors) == ({"EMAIL": 1}, ["nested too deep"])
    assert not is_there(rewriter.rewrite("msgpack", data, Place()))


@given(st.binary(max_size=400), st.sampled_from(sorted(SHAPES)), st.binary(max_size=60))
def test_whatever_stands_around_it_an_address_is_found_and_goes(before, shape, behind):
    inspector, rewriter = Inspector(TEXTS), Rewriter(TEXTS)
    data = before + b"\0\xff" + SHAPES["UTF-8"](SAID["en"]) + b"\xff\0" + behind
    scrubbed(inspector, rewriter, "bytes", data)
    kind, within = SERIALIZER.dumps_typed([before, SHAPES[shape](SAID["en"]), behind])
    scrubbed(inspector, rewriter, kind, within)


@given(st.binary(max_size=2000))
def test_any_bytes_can_be_looked_through_and_rewritten(data):
    inspector, rewriter = Inspector(TEXTS), Rewriter(TEXTS)
    for kind in ("bytes", "bytearray", None):
        seen = inspector.look(data, kind=kind)
        made = rewriter.rewrite(kind, data, Place())
        assert rewriter.rewrite(kind, made, Place()) == made
        assert made == data or seen.types or seen.kinds


@pytest.mark.parametrize("data", [struct.pack("<4I", 1, 2, 3, 4), struct.pack(">3d", 1.5, 2.5, 3.5), b"a\0b"])
def test_numbers_in_bytes_stay_as_they_are(rewriter, data):
    assert rewriter.rewrite("bytes", data, Place()) == data
    kind, within = SERIALIZER.dumps_typed({"kept": data})
    assert rewriter.rewrite(kind, within, Place()) == within
