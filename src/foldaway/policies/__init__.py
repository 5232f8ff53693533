"""Policies: each proposes level changes, best first, from a snapshot of the past. One file each."""
