"""Loops that grow whole trees: binary (depth or best first), multiway (ID3, C4.5, CART), histogram (leaf-wise, for
boosting).
"""
