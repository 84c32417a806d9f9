"""What was said: the conversation log with its sessions, and rolling summaries of threads."""

from discreet.storage.conversation.log import PostgresConversationLog
from discreet.storage.conversation.summaries import PostgresRollingSummaries

__all__ = ["PostgresConversationLog", "PostgresRollingSummaries"]
