"""recveil: publish rating data without giving its people away."""
