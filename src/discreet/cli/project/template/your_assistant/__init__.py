"""An assistant with long-term memory: begin with `graph.py`."""
