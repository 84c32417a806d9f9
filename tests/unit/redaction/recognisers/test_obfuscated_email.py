import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import ObfuscatedEmailRecogniser

REDACTOR = Redactor(recognisers=[ObfuscatedEmailRecogniser()])


@pytest.mark.parametrize(
    "written",
    [  # as people write addresses in forums and say them on the telephone
        "ann.lee [at] example [dot] com",
        "ann.lee(at)example(dot)co(dot)uk",
        "ann dot lee at example dot com",
        "ann-lee {at} example {dot} org",
        "ann.lee<at>example<dot>com",
        "ann.lee @ example.com",
        "ann . lee @ example . com",
        "ann.lee\n@example.com",
        "ann.lee@\nexample.com",
        "ann.lee@example dot com",
        "ann_at_example_dot_com",
        "ann at example point com",
        "lan.anh a còng fpt chấm vn",
        "lan.anh acong fpt dot vn",
        "oleg собака mail точка ru",
        "oleg тчк k [собака] inbox тчк ru",
        "wang小老鼠yahoo點com",
        "bramwell@icloud。com",
        "moc.elpmaxe@eel.nna",
        "ann.lee@gmail",
        "ann.lee@outlookcom",
        "ann2020#qq.com",
        "ann.lee @ outlook . corn",
        "lan gạch ngang anh a móc hotmail chấm com",
        "oleg51 сабака рамблер точка ру",
        "ann.lee@ yahoo .com .vn",
        "ann.lee @yandex. ru",
    ],
)
@pytest.mark.parametrize("around", ["reach me: {} ok", "信箱：{}，謝謝"])
def test_disguised_addresses_are_found(written, around):
    assert REDACTOR.redact(around.format(written)) == around.format("<EMAIL>")


@pytest.mark.parametrize("domain", ["<EMAIL>", "[REMOVED].com", "<HOST>", "***.com"])
def test_who_it_is_is_found_before_a_masked_domain(domain):
    assert REDACTOR.redact(f"from anna72@{domain}, hello") == f"from <EMAIL>{domain}, hello"
    assert REDACTOR.redact(f"ssh root@{domain}") == f"ssh root@{domain}"


@pytest.mark.parametrize(
    "text",
    [
        "meet me at example.com tomorrow",
        "look at this dot on the page",
        "the meeting is at 5 dot.",
        "@ann and @bob, see you @ noon",
        "usuario arroba dominio punto com",
        "user at domain dot com",
        "ping me @alice_w on #general",
        "собака на точке, кошка на дереве",
        "at the moment. com is a suffix",
        "chấm điểm bài của còng",
        "decorators @property and @dataclass(frozen=True)",
        "install foo@gmail-api and bar@2.0",
        "ann@example.com",
    ],
)
def test_other_text_stays(text):
    assert REDACTOR.redact(text) == text
