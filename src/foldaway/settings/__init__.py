"""Settings: validate them, find parts by name, wire a session."""
