"""Discreet inside Aegra, an open-source server of LangGraph graphs; only this package imports `aegra_api`.

`aegra.json` names `discreet.api.aegra.server:app` and `:auth`, and graphs that are `served`.
"""
