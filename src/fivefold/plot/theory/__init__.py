"""Figures of certificates and beliefs."""
