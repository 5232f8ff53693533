"""From bulky content to short text that keeps what later steps refer to. One file each."""
