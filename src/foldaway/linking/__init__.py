"""What depends on what: anchors, the links they reveal, declared links and episodes."""
