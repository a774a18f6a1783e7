"""Sequences in pictures: label_tracks.py, state_track.py, trellis.py."""
