"""Installable packages of the agent: deb, rpm and wheel."""
