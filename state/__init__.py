"""What flows: the conversation's state, the run's context, and the records that outlive a turn."""
