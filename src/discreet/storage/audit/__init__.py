"""Who did what: a chain of entries for each user, of which none can be changed unseen."""
