"""Stores: where log, ledger and notes live."""
