import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import UrlRecogniser

REDACTOR = Redactor(recognisers=[UrlRecogniser()])
RANDOM = "aB3dE5fG7hI9jK1lM3nO5pQ7"
DIGEST = "9f8e7d6c5b4a3f2e1d0c9b8a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"https://example.com/reset-password?token={RANDOM}", "<URL>"),
        (f"https://a.example/reset?token={RANDOM * 3}.", "https://a.example<URL>."),
        ("https://us02web.zoom.us/j/123456789?pwd=abcDEF123", "<URL>"),
        # https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
        (f"https://b.s3.amazonaws.com/k?X-Amz-Signature={DIGEST * 4}", "https://b.s3.amazonaws.com<URL>"),
        # https://cloud.google.com/storage/docs/authentication/signatures
        (f"https://storage.googleapis.com/b/o?X-Goog-Signature={DIGEST * 4}", "https://storage.googleapis.com<URL>"),
        # https://learn.microsoft.com/azure/storage/common/storage-sas-overview
        (
            f"https://a.blob.core.windows.net/c/f?sv=2023-11-03&sr=b&sig={RANDOM * 4}",
            "https://a.blob.core.windows.net<URL>",
        ),
        ("https://example.com/#access_token=abcdef1234567890&x=1", "<URL>"),
        ("https://example.com/?lang=en#access_token=abcdef1234567890", "<URL>"),
        (f"https://example.com/oauth/callback?code={RANDOM}", "<URL>"),
        (f"https://example.com/invite/{RANDOM}", "<URL>"),
        (f"(https://example.com/reset/{DIGEST})", "(<URL>)"),
        ("https://example.com/s/550e8400-e29b-41d4-a716-446655440000", "<URL>"),
        (f"https://docs.google.com/document/d/{RANDOM}{RANDOM}/edit?usp=sharing", "<URL>"),
        # https://core.telegram.org/bots/api
        (f"https://api.telegram.org/bot123456789:AA{RANDOM}xyz/getMe", "<URL>"),
        ("https://example.com/unsubscribe?email=ann%40example.com", "<URL>"),
        (f"example.com/login?token={RANDOM}", "<URL>"),
        ("https://ann:pa55word@example.com/x", "https://<URL>"),
        (f"mở https://example.com/invite/{RANDOM} nhé", "mở <URL> nhé"),
        (f"открой https://example.com/invite/{RANDOM}спасибо", "открой <URL>спасибо"),
        (f"請記住https://example.com/invite/{RANDOM}這個號碼", "請記住<URL>這個號碼"),
        (f"連結：https://example.com/invite/{RANDOM}，謝謝", "連結：<URL>，謝謝"),
        (f"https://example.com/x?токен=1&token={RANDOM}", "<URL>"),
    ],
)
def test_links_that_give_access_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/search?q=redaction+tools&page=2&sort=asc",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        "https://youtu.be/dQw4w9WgXcQ?si=AbCdEfGhIjKlMnOp",
        "https://en.wikipedia.org/wiki/List_of_Presidents_of_the_United_States_2024",
        "https://github.com/python/cpython/commit/4bf92f3577b34da6a3ce929d0e0e4736aabbccdd",
        "https://api.example.com/v1/users/550e8400-e29b-41d4-a716-446655440000",
        "https://docs.python.org/3/library/re.html#re.compile",
        "https://medium.com/@ann/how-to-build-a-thing-in-2024-3f2a9c8b7d6e",
        "https://doi.org/10.1145/3442188.3445922 https://arxiv.org/abs/2310.06825v2",
        "https://example.com/search?state=CA&code=SAVE10&key=name",
        "https://example.com/reset-password?token={token}",
        "https://example.com/?api_key=YOUR_API_KEY",
        "postgresql://ann:pa55word@db.example.com/x",  # only its password is a value, and not of this kind
        "ssh://git@github.com/org/repo.git",
        "https://shop.example.com/item/iphone-15-pro-max-256gb?utm_campaign=black-friday-2024",
        "the token? yes=no // done",
        "https://ru.wikipedia.org/wiki/Москва?page=2 https://zh.wikipedia.org/wiki/臺北",
    ],
)
def test_plain_links_stay(text):
    assert REDACTOR.redact(text) == text
