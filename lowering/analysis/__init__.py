"""Analyses of relay programs: functions that say something about a program and change nothing."""
