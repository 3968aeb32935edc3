"""Hashes of states by their definition (docs/trace-format.md), in plain Python."""

_ALL = (1 << 64) - 1


def mix(state, value):
    x = state ^ ((value * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) & _ALL)
    x = ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93) & _ALL
    x ^= x >> 29
    return x + (x == 0)


def temporal_sum(ordinal, data):
    """Of a state's bytes in a block."""
    words = (int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8))
    return sum(mix((ordinal << 40) + w, word) for w, word in enumerate(words)) & _ALL


def position_sum(ordinal, elements):
    """Of a conv state's elements at one position, as unsigned numbers."""
    return sum(mix((ordinal << 40) + c, element) for c, element in enumerate(elements)) & _ALL


def told(total):
    """What a trace has of a sum."""
    return (total & _ALL) >> 16
