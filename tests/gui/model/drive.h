// Executes commands of the workbench to their end, as scripts do.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "gui/model/workbench.h"

namespace hybridscope::test {

inline void apply(Workbench& workbench, const GuiCommand& command) {
  const Status done = workbench.apply(command);
  ASSERT_TRUE(done.ok()) << to_text(command) << ": " << done.error().message;
}

// Runs until nothing is in progress; the clock advances by a millisecond each time it is read.
inline void settle(Workbench& workbench) {
  std::int64_t now = 0;
  for (int i = 0; i < 100'000 && workbench.is_busy(); ++i)
    workbench.advance(10'000, [&] { return now += 1000; });
}

}  // namespace hybridscope::test
