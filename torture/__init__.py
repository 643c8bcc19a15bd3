"""Torture: what recveil leaves behind, however a run ends. Run it: make torture."""
