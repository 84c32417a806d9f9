"""Move what is sealed to the newest key, and seal what is plain."""
