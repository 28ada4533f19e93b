"""What the erasure experiment is made of: words, edits that run once, a search for the best and worst order."""
