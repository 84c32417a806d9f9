"""What redacting a log takes beyond redacting text: what stays, what was seen before, tracebacks, and lines that take long."""
