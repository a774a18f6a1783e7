"""Sequences in pictures: state_track.py, trellis.py."""
