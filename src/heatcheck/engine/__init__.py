"""Steps whose output appears whole or not at all, and is found again by its key."""
