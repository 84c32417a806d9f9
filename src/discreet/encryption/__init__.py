"""Seal values that have to lie in a database for a while, and know the keys that do it."""

from discreet.encryption.configured import keys_from_settings
from discreet.encryption.envelope import EnvelopeKeys, add_data_key, promote_data_key
from discreet.encryption.key_file import FileKeys
from discreet.encryption.keyring import MAKE_ONE, Keyring, make_key, write_key
from discreet.encryption.sealing import Column, associate, key_header, key_id_of, seal, unseal

__all__ = [
    "MAKE_ONE",
    "Column",
    "EnvelopeKeys",
    "FileKeys",
    "Keyring",
    "add_data_key",
    "associate",
    "key_header",
    "key_id_of",
    "keys_from_settings",
    "make_key",
    "promote_data_key",
    "seal",
    "unseal",
    "write_key",
]
