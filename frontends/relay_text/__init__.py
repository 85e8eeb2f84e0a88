"""Relay's own text format, version 0.0.5: `read_relay` reads it, `print_relay` writes it (docs/relay_text.md)."""
