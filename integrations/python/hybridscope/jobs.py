"""Lists of jobs, in this process or on any executor."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future, as_completed
from typing import Callable, TypeVar

from .progress import OnProgress, Progress

Job = TypeVar("Job")
Answer = TypeVar("Answer")


def for_each(function: Callable[[Job], Answer], jobs: Sequence[Job], executor: Executor | None,
             take: Callable[[int, Answer], None]) -> None:
    """take(index, function(job)) for each job, in the order in which they end.

    Without an executor the jobs run here, one after the other. With one, `function`, the jobs and
    the answers have to be picklable if its workers are processes. The first exception ends it: jobs
    that have not begun are cancelled.
    """
    if executor is None:
        for index, job in enumerate(jobs):
            take(index, function(job))
        return
    futures: dict[Future[Answer], int] = {}
    try:
        for index, job in enumerate(jobs):
            futures[executor.submit(function, job)] = index
        for future in as_completed(futures):
            take(futures[future], future.result())
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def answers(function: Callable[[Job], Answer], jobs: Sequence[Job], executor: Executor | None,
            progress: OnProgress | None) -> list[Answer]:
    """function(job) for each job, in the order of the jobs."""
    done: dict[int, Answer] = {}

    def take(index: int, answer: Answer) -> None:
        done[index] = answer
        if progress is not None:
            progress(Progress("jobs", len(done), len(jobs)))

    for_each(function, jobs, executor, take)
    return [done[index] for index in range(len(jobs))]
