import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers import CommandLineRecogniser

REDACTOR = Redactor(recognisers=[CommandLineRecogniser()])
PASSWORD = "tr0ub4dor" + "_3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # manual pages of the programs
        (f"mysql -uroot -p{PASSWORD} shop", "mysql -uroot -p<SECRET> shop"),
        (f"sshpass -p '{PASSWORD}' ssh root@example.com", "sshpass -p '<SECRET>' ssh root@example.com"),
        (f"redis-cli -a {PASSWORD} ping", "redis-cli -a <SECRET> ping"),
        (f"curl -u ann:{PASSWORD} https://example.com", "curl -u ann:<SECRET> https://example.com"),
        (f"unzip -P {PASSWORD} a.zip", "unzip -P <SECRET> a.zip"),
        (f"openssl enc -k {PASSWORD} -aes256", "openssl enc -k <SECRET> -aes256"),
        (f"htpasswd -b f ann {PASSWORD}", "htpasswd -b f ann <SECRET>"),
        (f"echo {PASSWORD} | sudo -S ls", "echo <SECRET> | sudo -S ls"),
        (f"auth=('ann', '{PASSWORD}')", "auth=('ann', '<SECRET>')"),
        (f"CREATE USER ann WITH PASSWORD '{PASSWORD}';", "CREATE USER ann WITH PASSWORD '<SECRET>';"),
        (f"ALTER USER ann IDENTIFIED BY '{PASSWORD}'", "ALTER USER ann IDENTIFIED BY '<SECRET>'"),
        (f"machine example.com login ann password {PASSWORD}", "machine example.com login ann password <SECRET>"),
    ],
)
def test_values_are_found(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "docker run -p 8080:80 nginx",
        "mkdir -p src/a",
        "curl -u $USER:$TOKEN https://example.com",
        "mysql --version",
        "the login page and the password page",
    ],
)
def test_what_only_looks_so_stays(text):
    assert REDACTOR.redact(text) == text
