"""Networks as files: bif.py, xmlbif.py and uai.py; network_files.py chooses by the name, network_draft.py checks."""
