"""Work that the engine's thread leaves to another."""

import queue
import threading


class Background:
    """Calls take(item) for each item in the order of put(), in a thread of its own. After an error
    on_error(error) is called once, there, and items are dropped."""

    def __init__(self, take, on_error, limit=1024):
        """`limit`: put() waits while so many items wait."""
        self._take, self._on_error = take, on_error
        self._items = queue.Queue(limit)
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="hybridscope", daemon=True)
        self._thread.start()

    def put(self, item):
        if not self._failed:
            self._items.put(item)

    def drain(self):
        """Waits until all items are taken."""
        self._items.join()

    def close(self):
        """Takes what waits, and ends the thread."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._items.put(None)
            self._thread.join()

    def _run(self):
        while (item := self._items.get()) is not None:
            try:
                if not self._failed:
                    self._take(item)
            except Exception as error:
                self._failed = True
                self._on_error(error)
            finally:
                self._items.task_done()
        self._items.task_done()
