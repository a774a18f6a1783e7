"""Columns made ready for a method, fitted inside each fold: `column_transformer` chooses, `encoders` transform."""
