"""Providers of batches: implementations of the port `BatchProvider`.

Each company's client is imported when the first call is made.
"""

from discreet.providers.batches.anthropic import AnthropicBatchProvider
from discreet.providers.batches.google import GoogleBatchProvider
from discreet.providers.batches.immediate import ImmediateBatchProvider
from discreet.providers.batches.openai import OpenAIBatchProvider

__all__ = ["AnthropicBatchProvider", "GoogleBatchProvider", "ImmediateBatchProvider", "OpenAIBatchProvider"]
