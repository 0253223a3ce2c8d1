"""Fixes: a rule names a remedy, this package makes edits of it and applies them.

`text.py` finds the flagged code in a file's tree, `remedies.py` turns a remedy into candidate edits,
`propose.py` keeps the first candidate after which the finding is gone and no other has come, and
`apply.py` changes files. Edits touch nothing but the places that they name.
"""
