#include "kernels/cpu/available_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace hybridscope {
namespace {

// -1: no such file, or no number in it ("max").
std::int64_t number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = -1;
  return file >> number ? number : -1;
}

std::int64_t system_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kibibytes = 0;
  for (std::string line; file >> name >> kibibytes; std::getline(file, line))
    if (name == "MemAvailable:") return kibibytes * 1024;
  return -1;
}

std::int64_t control_group_bytes() {
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
  return limit < 0 || used < 0 ? -1 : std::max<std::int64_t>(limit - used, 0);
}

}  // namespace

std::int64_t available_memory_bytes() {
  const std::int64_t system = system_bytes();
  const std::int64_t group = control_group_bytes();
  if (system < 0 || group < 0) return std::max(system, group);
  return std::min(system, group);
}

}  // namespace hybridscope
