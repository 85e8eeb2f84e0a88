"""Importers: each turns one model format into a program of the relay dialect."""
