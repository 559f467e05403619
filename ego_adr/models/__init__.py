"""Backends: one file each, all behind the protocol in `ego_adr.models.base`."""
