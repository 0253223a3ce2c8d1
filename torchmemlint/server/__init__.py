"""The language server: what editors are told while code is typed. Needs the extra `server` (pygls)."""
