"""Contract tests and fakes for people who write parts."""
