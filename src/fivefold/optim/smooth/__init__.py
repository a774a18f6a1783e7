"""Solvers of smooth objectives, and the line searches (Armijo, Wolfe, Brent) they take their steps by."""
