"""What hybridscope does inside vLLM (docs/live.md)."""
