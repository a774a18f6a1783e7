"""Pairwise Markov random fields: pairwise_field.py (the model and its marginals), potentials.py (evidence and
compatibility), image_restoration.py and image_segmentation.py (fields on the pixels of a picture).
"""
