"""Figures of trees and rules: diagrams, partitions of the plane, oblique and soft splits, rule tables."""
