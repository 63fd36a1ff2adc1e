"""Findings, decisions to ignore them, audits of runs, their insights and settings."""
