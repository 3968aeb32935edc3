#include "sessions/engine_setup.h"

#include <gtest/gtest.h>

namespace hybridscope {
namespace {
TEST(EngineSetup, X) {}
}  // namespace
}  // namespace hybridscope
