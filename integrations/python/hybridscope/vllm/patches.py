"""Methods of classes that also call functions of ours."""

import functools


def after_method(owner, name, function):
    """Calls function(self) after each call of a method of the class `owner`."""
    real = getattr(owner, name)

    @functools.wraps(real)
    def method(self, *args, **kwargs):
        result = real(self, *args, **kwargs)
        function(self)
        return result

    setattr(owner, name, method)
