"""How much an item or an anchor is worth keeping in sight."""
