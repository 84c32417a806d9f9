"""Passwords on command lines and in the statements of databases: `mysql -p…`, `curl -u ann:…`, `IDENTIFIED BY '…'`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import ClassVar

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.runs import Hints
from discreet.redaction.recognisers.told.values import names_a_value

MOST_LINE_CHARS = 240
"""How far behind the name of a program its options are looked for."""

LINE_END = lazy(r"(?<!\\)\r?\n")
"""A backslash before it goes on with the command."""

_VALUE = r"N?(?:\"(?P<v1>[^\"\r\n\0]{1,200})\"|'(?P<v2>[^'\r\n\0]{1,200})'|(?P<v3>[^\s\"'`|;&<>\0$][^\s\"'`|;&<>\0]{0,200}+))"
_PAIR = r"(?P<q>[\"']?)[^\s:\"'\0]{1,80}:(?:(?P<v1>(?<=[\"'])[^\"'\r\n\0]{1,200})|(?P<v2>[^\s\"'`|;&<>\0]{1,200}+))"


class CommandLineRecogniser:
    """Finds a program or a statement that takes a password, and the password in what follows on the line."""

    type = "SECRET"
    TOOL = lazy(
        r"(?<![A-Za-z0-9])(?:"
        r"(?P<glued>mysql(?:dump|admin|import|sh)?|mariadb(?:-dump)?|7za?|7zz|rar|unrar)"
        r"|(?P<spaced>sshpass|mongo(?:sh|dump|restore|export)?|(?:docker|podman|helm(?: registry)?|oc"
        r"|az(?: acr)?) login|kinit|bcp|sqlcmd|rabbitmqadmin|mosquitto_(?:pub|sub)|vault|mysql_config_editor)"
        r"|(?P<redis>redis-cli)|(?P<upper>unzip|zip)|(?P<openssl>openssl)|(?P<ldap>ldap(?:search|modify|add|whoami)|smbpasswd)"
        r"|(?P<user>curl|wget|httpie|https?(?= )|xh)|(?P<net>net use)|(?P<htpasswd>htpasswd)|(?P<smb>smbclient"
        r"|rpcclient|mount)|(?P<java>keytool|jarsigner)"
        r")(?=[ \t])"
    )
    OPTION = lazy(r"[ \t](?:-[a-zA-Z-]|/user:)")
    OPTIONS: ClassVar = {
        "glued": lazy(r"[ \t]-p" + _VALUE),
        "spaced": lazy(r"[ \t](?:(?:-p|-w|-P)(?:[ \t]{1,3}|=)?|--pass(?:word)?(?:[ \t]{1,3}|=))" + _VALUE),
        "redis": lazy(r"[ \t](?:-a|--pass)[ \t]{1,3}" + _VALUE),
        "upper": lazy(r"[ \t]-P[ \t]{0,3}" + _VALUE),
        "openssl": lazy(r"(?:[ \t]-(?:k|K|pass|passin|passout)[ \t]{1,3}(?:pass:)?)" + _VALUE),
        "ldap": lazy(r"[ \t]-w[ \t]{0,3}" + _VALUE),
        "user": lazy(r"[ \t](?:-u|-U|-a|--user|--proxy-user|--auth)(?:[ \t]{1,3}|=)?" + _PAIR),
        "net": lazy(r"[ \t]/user:[^\s]{1,60}[ \t]{1,3}" + _VALUE),
        "htpasswd": lazy(r"[ \t]-[a-zA-Z]{0,5}b[a-zA-Z]{0,5}[ \t]{1,3}\S{1,80}[ \t]{1,3}\S{1,80}[ \t]{1,3}" + _VALUE),
        "smb": lazy(r"[ \t](?:-U[ \t]{0,3}[^\s%]{1,60}%|-o[ \t]\S{0,80}password=)" + _VALUE),
        "java": lazy(r"[ \t]-(?:storepass|keypass|srcstorepass|deststorepass)[ \t]{1,3}" + _VALUE),
    }

    STATEMENTS = (
        lazy(
            r"\b(?:IDENTIFIED (?:WITH \w{1,40} )?(?:BY|AS)|WITH (?:ENCRYPTED )?PASSWORD|SET PASSWORD[^\r\n\0=']{0,60}=?"
            r"|PASSWORD)[ ]{0,3}=?[ ]{1,3}(?:PASSWORD\()?" + _VALUE.replace("|(?P<v3>", "|(?P<v3>(?!)"),
            re.IGNORECASE | re.ASCII,
        ),
        lazy(
            r"\bIDENTIFIED (?:WITH \w{1,40} )?(?:BY"
            r"|AS)[ \t\r\n]{1,4}(?:VALUES )?(?P<v3>[^\s\"'`;,()<>?%:\0]{3,128})(?=[\s;,)]|\Z)",
            re.IGNORECASE | re.ASCII,
        ),
        lazy(
            r"(?<![A-Za-z])(?:MD5|SHA1|SHA2|CRYPT|ConvertTo-SecureString)(?:\(|[ ]{1,3})[\"'](?P<v3>[^\"'\r\n\0]{4,128})[\"']",
            re.IGNORECASE,
        ),
        lazy(
            r"(?<![A-Za-z])(?:auth|login|authenticate|connect|HTTPBasicAuth|basic_auth|credentials)(?:=\(|\("
            r"|=HTTPBasicAuth\()[ ]{0,2}[\"'][^\"'\r\n\0]{1,80}[\"'],[ ]{0,3}"
            + _VALUE.replace("|(?P<v3>", "|(?P<v3>(?!)")
        ),
        lazy(
            r"(?<![A-Za-z])echo[ ]{1,3}(?:-n |-e )?"
            + _VALUE
            + r"[ ]{0,3}\|[ ]{0,3}(?:sudo[ ]{1,3}-S|su |passwd --stdin|docker login|gh auth)"
        ),
        lazy(r"(?<![A-Za-z])echo[ ]{1,3}" + _PAIR + r"[\"']?[ ]{0,3}\|[ ]{0,3}(?:sudo )?chpasswd"),
        lazy(r"(?<![a-z])login[ ]{1,3}[!-~]{1,80}[\s,]{1,4}pass(?:word|wd)?[ ]{1,3}" + _VALUE),
        lazy(r"(?<![A-Za-z0-9])(?:xfreerdp|mstsc)[^\r\n\0|;&]{0,100}?/p:" + _VALUE),
        lazy(
            r"(?<![A-Za-z0-9])(?:requirepass|masterauth|bindpw|rootpw|enable secret [0-9]|snmp-server community|psk="
            r"|wpa_passphrase \S{1,40})[ ]{0,3}(?![^\x00-\x7f])" + _VALUE
        ),
    )

    STATEMENT_HINTS = (
        Hints("identified ", "password "),
        Hints("identified "),
        Hints("md5(", "sha1(", "sha2(", "crypt(", "securestring"),
        Hints("('", '("', "( '", '( "', "(  "),
        Hints("echo "),
        Hints("echo "),
        Hints("login "),
        Hints("xfreerdp", "mstsc"),
        Hints("requirepass", "masterauth", "bindpw", "rootpw", "enable secret", "snmp-server", "psk=", "wpa_pass"),
    )
    HINTS = Hints(*(word for hints in STATEMENT_HINTS for word in hints.words))

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all passwords."""
        text = view.text
        if " -" in text or "\t-" in text or "/user:" in text:
            yield from self._options(text)
        if not self.HINTS.found_in(view):
            return
        for hints, statement in zip(self.STATEMENT_HINTS, self.STATEMENTS, strict=True):
            for match in statement.finditer(text) if hints.found_in(view) else ():
                yield from self._values(match)

    def _options(self, text: str) -> Iterator[Span]:
        if not self.OPTION.search(text):
            return
        tools = list(self.TOOL.finditer(text))
        for tool, following in zip_longest(tools, tools[1:]):
            line = LINE_END.search(text, tool.end(), tool.end() + MOST_LINE_CHARS)
            stop = line.start() if line else min(len(text), tool.end() + MOST_LINE_CHARS)
            if following:
                stop = min(stop, following.start())
            if option := self.OPTIONS[tool.lastgroup or ""].search(text, tool.end(), stop):
                yield from self._values(option)

    def _values(self, match: re.Match[str]) -> Iterator[Span]:
        for group in ("v1", "v2", "v3"):
            if group in match.re.groupindex and match[group] and names_a_value(match[group]):
                yield match.span(group)
