"""What ends the measuring of claims, as one line for whoever started it."""


class Failure(Exception):
    """What is wrong with the list, a command, or a place in its output."""


class Missing(Exception):
    """What this machine lacks: a model, data. A claim that needs it is skipped."""
