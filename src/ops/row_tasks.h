#ifndef SIGHTLINE_OPS_ROW_TASKS_H_
#define SIGHTLINE_OPS_ROW_TASKS_H_

#include <algorithm>
#include <cstdint>

#include "src/cpu/parallel.h"

namespace sightline::ops {

/// body(row) for each of [0, rows), in tasks of as many rows as have `task_units` of work: some 10 us, so that a
/// hand-over to another thread costs nothing beside it.
template <class Body>
void for_each_row(std::int64_t rows, std::int64_t row_units, std::int64_t task_units, int threads, const Body& body) {
  const std::int64_t of_task = std::max<std::int64_t>(task_units / std::max<std::int64_t>(row_units, 1), 1);
  cpu::parallel_for((rows + of_task - 1) / of_task, threads, [&](std::int64_t task) {
    for (std::int64_t row = task * of_task; row < std::min((task + 1) * of_task, rows); ++row) body(row);
  });
}

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_ROW_TASKS_H_
